#include <algorithm>

#include "models/lowering/operators/pytorch/eager_block_script.hpp"

namespace foreshard::lowering {

EagerBlock::EagerBlock(const Job& job, const BlockSite& site, GradMode grad, ModuleId block)
    : w_(job, grad, block),
      site_(site),
      rotary_(rotary_of(job.plan)),
      root_(w_.module("")),
      attention_module_(w_.module("self_attn")),
      mlp_(w_.module("mlp")),
      to_q_(
          projection("self_attn.q_proj", w_.z.H * w_.z.d, w_.z.D, job.model.attention_bias, true)),
      to_k_(
          projection("self_attn.k_proj", w_.z.K * w_.z.d, w_.z.D, job.model.attention_bias, true)),
      to_v_(
          projection("self_attn.v_proj", w_.z.K * w_.z.d, w_.z.D, job.model.attention_bias, true)),
      to_o_(projection("self_attn.o_proj", w_.z.D, w_.z.H * w_.z.d, job.model.output_bias, false)),
      to_gate_(projection("mlp.gate_proj", w_.z.F, w_.z.D, job.model.mlp_bias, true)),
      to_up_(projection("mlp.up_proj", w_.z.F, w_.z.D, job.model.mlp_bias, true)),
      to_down_(projection("mlp.down_proj", w_.z.D, w_.z.F, job.model.mlp_bias, false)),
      norm1_(declare_norm(w_, "input_layernorm", w_.z.T, w_.z.D)),
      norm2_(declare_norm(w_, "post_attention_layernorm", w_.z.T, w_.z.D)),
      attention_(declare_attention(w_, layer_attention(job, site.mask.has_value()))) {
  const std::int64_t T = w_.z.T, rows = w_.of_stream(T * w_.z.D), wide = w_.of(T * w_.z.F);
  // Tables of angles in the stream's type widen what they turn; complex numbers are cast back.
  const bool has_tables = rotary_ == Rotary::half || rotary_ == Rotary::shared_half;
  const bool is_widened = has_tables && w_.autocasts();
  const auto turned = [&](const Projection& l) {
    return w_.tensor(is_widened ? w_.of_stream(T * l.out) : w_.of(T * l.out));
  };
  if (job.model.has_query_key_norms()) {
    query_norm_ = declare_norm(w_, "self_attn.q_norm", T * w_.z.H, w_.z.d);
    key_norm_ = declare_norm(w_, "self_attn.k_norm", T * w_.z.K, w_.z.d);
  }
  x_ = w_.tensor(rows);
  q0_ = w_.tensor(w_.of(T * to_q_.out));
  k0_ = w_.tensor(w_.of(T * to_k_.out));
  v_ = w_.tensor(w_.of(T * to_v_.out));
  q_ = turned(to_q_);
  k_ = turned(to_k_);
  if (repeats()) {
    all_k_ = turned(to_q_);
    all_v_ = w_.tensor(w_.bytes(q0_));
  }
  if (is_widened) {
    cast_q_ = w_.tensor(w_.bytes(q0_));
    cast_k_ = w_.tensor(w_.of(T * attention_.kv_heads * w_.z.d));
  }
  projected_ = w_.tensor(w_.of(T * w_.z.D));
  h_ = w_.tensor(rows);
  gate_ = w_.tensor(wide);
  silu_ = w_.tensor(wide);
  up_ = w_.tensor(wide);
  product_ = w_.tensor(wide);
  down_ = w_.tensor(w_.of(T * w_.z.D));
  y_ = w_.tensor(rows);
  residual_ = w_.tensor(rows);
  if (casts_tables() && !site.is_unit) {
    cosines_ = w_.tensor(2 * w_.z.S * w_.z.d);
    sines_ = w_.tensor(2 * w_.z.S * w_.z.d);
  } else if (casts_tables()) {
    tables_ = w_.tensor(4 * w_.z.S * w_.z.d);
  }
  // Under reentrant checkpointing the graph holds all that blocks are called with.
  if (checkpoints_reentrantly(job.plan)) return;
  if (rotary_ == Rotary::shared_half && site.is_first_turned) {
    shared_cosines_ = w_.tensor(w_.of_stream(w_.z.S * w_.z.d));
    shared_sines_ = w_.tensor(w_.of_stream(w_.z.S * w_.z.d));
  }
  if (rotary_ == Rotary::shared_half && site.is_first_checkpointed)
    positions_ = w_.tensor(8 * w_.z.S);
  if (site.is_first_checkpointed_masked) mask_ = w_.tensor(w_.z.T * w_.z.S);
}

Segment EagerBlock::segment() {
  w_.segment.input = x_;
  w_.segment.output = y_;
  w_.segment.gradient = residual_;
  w_.segment.has_input_gradient = site_.input_requires_gradient;
  w_.set_requires_gradient(x_, site_.input_requires_gradient);
  if (site_.is_checkpointed) {
    w_.begin_unrecorded(w_.segment.checkpointed_forward);
    forward(Pass::checkpointed);
  } else {
    w_.begin(w_.segment.forward);
    forward(Pass::forward);
  }
  w_.begin(w_.segment.end_of_autocast);
  w_.end_autocast();
  if (site_.is_checkpointed && w_.requires_gradient(y_)) {
    w_.begin(w_.segment.recomputation, Thread::autograd);
    forward(Pass::recomputed);
  }
  if (w_.requires_gradient(y_)) backward();
  return std::move(w_.segment);
}

void EagerBlock::mark_units(EagerWriter::Linear& l) const {
  const std::string_view path = w_.segment.modules[static_cast<std::size_t>(l.module)];
  l.is_unit = std::find(site_.units.begin(), site_.units.end(), path) != site_.units.end();
  for (EagerWriter::Linear& factor : l.factors) mark_units(factor);
}

// Of aten::mm, with which selective checkpointing keeps all outputs or the 1st, the 3rd and so on; with a
// bias a product is aten::addmm.
EagerBlock::Projection EagerBlock::projection(std::string_view path, std::int64_t out,
                                              std::int64_t in, bool bias, bool reads_stream) {
  const CheckpointPlan& plan = w_.job.plan.checkpointing;
  Projection l{w_.declare_linear(path, out, in, bias, reads_stream), false};
  l.is_float8 = w_.plan.float8 != Float8Scaling::none;
  mark_units(l);
  if (bias) return l;
  const bool is_odd = ++products_ % 2 == 1;
  l.is_kept = is_selective() && (plan.save_matmul || (plan.save_every_second_matmul && is_odd));
  return l;
}

bool EagerBlock::casts_tables() const {
  return rotary_ == Rotary::half && w_.job.plan.precision.param != w_.job.plan.precision.storage;
}

// Queries and keys, with their norms, and values. Returns what is to be turned.
QueryAndKey EagerBlock::project_to_heads(Pass pass) {
  const auto head = [&](const Projection& l, Slot y, const EagerNorm& norm) {
    project(pass, l, n1_, y);
    if (!has_head_norms()) return y;
    const Slot out = norm_forward(w_, norm, y);
    w_.drop({y});
    return out;
  };
  const Slot q = head(to_q_, q0_, query_norm_);
  const Slot k = head(to_k_, k0_, key_norm_);
  project(pass, to_v_, n1_, v_);
  return {q, k};
}

void EagerBlock::rotate_and_repeat(const QueryAndKey& from) {
  w_.enter(attention_module_);
  if (cosines_ != kNone) {
    w_.write(cosines_, "aten::_to_copy", {});
    w_.write(sines_, "aten::_to_copy", {});
    if (w_.requires_gradient(from.q) || w_.requires_gradient(from.k)) {
      w_.save(cosines_);
      w_.save(sines_);
    }
  }
  rope_forward(w_, from, {q_, k_});
  if (w_.code.queries_die_first) {
    w_.drop({from.q, from.k});
  } else {
    w_.drop({from.k, from.q});
  }
  if (!repeats() || repeats_for_mask()) return;
  w_.write(all_k_, "aten::clone", {k_});
  if (!w_.code.repeats_together) w_.drop({k_});
  w_.write(all_v_, "aten::clone", {v_});
  w_.drop({v_, w_.code.repeats_together ? k_ : kNone});
}

// What selective checkpointing keeps is not computed again.
void EagerBlock::attend(Pass pass) {
  if (repeats_for_mask()) {
    w_.write(all_k_, "aten::clone", {k_});
    w_.write(all_v_, "aten::clone", {v_});
  }
  if (cast_k_ != kNone) w_.write(cast_k_, "aten::_to_copy", {keys()});
  if (cast_q_ != kNone) w_.write(cast_q_, "aten::_to_copy", {q_});
  const Slot q = cast_queries(), k = cast_keys(), v = values();
  const AttentionNeeds needs = attention_needs();
  const bool requires_gradient = needs.any();
  w_.set_requires_gradient(attention_.out, requires_gradient);
  const bool is_kept = is_selective() && saves_attention(w_.job.plan, attention_.kernel);
  const AttentionForward at{q,
                            k,
                            v,
                            w_.records() ? requires_gradient : is_kept,
                            is_selective(),
                            w_.records() ? requires_gradient : !is_reentrant(),
                            needs};
  attention_forward(w_, attention_, at,
                    is_kept && pass == Pass::recomputed ? AttentionRun::kept : AttentionRun::anew);
  if (is_kept && pass == Pass::checkpointed) w_.hold(attention_output(attention_));
  if (requires_gradient) {
    for (const Slot saved : saved_by_attention(attention_, at)) w_.save(saved);
  }
  w_.drop({cast_q_, cast_k_});
  attention_in_rows(w_, attention_);
  if (w_.code.drops_attention_result) w_.drop({attention_.result});
  if (repeats_for_mask()) w_.drop({all_k_, all_v_});
}

void EagerBlock::drop_attention_variables() {
  // What the math path copied to rows has a name of its own, or none.
  const Slot result = w_.code.drops_attention_result ? kNone : attention_.result;
  const bool is_out_first = w_.code.replaces_attention_output || result != kNone;
  if (is_out_first) w_.drop({attention_.out});
  const Slot k = repeats_for_mask() ? k_ : keys(), v = repeats_for_mask() ? v_ : values();
  w_.drop({q_, k, v, cosines_, sines_, is_out_first ? kNone : attention_.out, result});
}

void EagerBlock::project(Pass pass, const Projection& l, Slot x, Slot y) {
  w_.enter(l.called);
  if (pass == Pass::recomputed && l.is_kept) {
    w_.begin_linear(l, x, y);
    w_.end_linear(l);
    w_.take_back(y);
    return;
  }
  w_.linear(l, x, y);
  if (pass == Pass::checkpointed && l.is_kept) w_.hold(y);
}

void EagerBlock::forward(Pass pass) {
  if (tables_ != kNone && pass != Pass::recomputed) w_.write(tables_, "aten::_to_copy", {});
  w_.enter(root_);
  n1_ = norm_forward(w_, norm1_, x_);
  rotate_and_repeat(project_to_heads(pass));
  attend(pass);
  project(pass, to_o_, attention_.out, projected_);
  w_.enter(attention_module_);
  drop_attention_variables();
  w_.leave(attention_module_);
  w_.drop({n1_});
  w_.enter(root_);
  w_.write(h_, "aten::add", {x_, projected_});
  w_.drop({projected_});
  n2_ = norm_forward(w_, norm2_, h_);
  project(pass, to_gate_, n2_, gate_);
  w_.enter(mlp_);
  w_.write(silu_, "aten::silu", {gate_});
  if (w_.requires_gradient(gate_)) w_.save(gate_);
  w_.drop({gate_});
  project(pass, to_up_, n2_, up_);
  w_.enter(mlp_);
  w_.write(product_, "aten::mul", {silu_, up_});
  if (w_.requires_gradient(up_)) w_.save(silu_);
  if (w_.requires_gradient(silu_)) w_.save(up_);
  w_.drop({silu_, up_});
  if (pass == Pass::recomputed && stops_early()) {  // where the last tensor is saved
    w_.linear_until_saved(to_down_, product_, down_);
    w_.end_autocast();
    return w_.drop({product_, n2_, h_});
  }
  project(pass, to_down_, product_, down_);
  w_.enter(mlp_);  // an argument without a name lives until the call and its hooks are over
  w_.drop({product_});
  w_.leave(mlp_);
  w_.drop({n2_});
  w_.enter(root_);
  w_.write(y_, "aten::add", {h_, down_});
  w_.drop({down_, h_});
  if (pass == Pass::recomputed) {
    w_.end_autocast();
    if (!is_reentrant()) w_.free({y_});
    return;
  }
  w_.leave(root_);
  const bool is_argument =
      pass == Pass::checkpointed && w_.requires_gradient(y_);  // of checkpoint()
  if (is_argument || w_.is_saved(x_)) return;
  if (w_.code.has_inner_model && site_.is_first) {
    w_.hand_over(x_, Shared::embedded);
  } else {
    w_.free({x_});
  }
}

bool EagerBlock::stops_early() const {
  if (is_reentrant()) return false;
  return w_.plan.checkpoint_early_stop ||
         w_.job.plan.checkpointing.mode == CheckpointMode::transformers;
}

Segment eager_block(const Job& job, const BlockSite& site, GradMode grad, ModuleId block) {
  return EagerBlock(job, site, grad, block).segment();
}

}  // namespace foreshard::lowering
