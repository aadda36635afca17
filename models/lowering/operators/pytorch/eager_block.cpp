#include "models/lowering/operators/pytorch/eager_block_script.hpp"

namespace foreshard::lowering {

EagerBlock::EagerBlock(const Job& job, const BlockSite& site)
    : w_(job),
      site_(site),
      root_(w_.module("")),
      attention_module_(w_.module("self_attn")),
      mlp_(w_.module("mlp")),
      to_q_(projection("self_attn.q_proj", w_.z.H * w_.z.d, w_.z.D, job.model.attention_bias)),
      to_k_(projection("self_attn.k_proj", w_.z.K * w_.z.d, w_.z.D, job.model.attention_bias)),
      to_v_(projection("self_attn.v_proj", w_.z.K * w_.z.d, w_.z.D, job.model.attention_bias)),
      to_o_(projection("self_attn.o_proj", w_.z.D, w_.z.H * w_.z.d, job.model.output_bias)),
      to_gate_(projection("mlp.gate_proj", w_.z.F, w_.z.D, job.model.mlp_bias)),
      to_up_(projection("mlp.up_proj", w_.z.F, w_.z.D, job.model.mlp_bias)),
      to_down_(projection("mlp.down_proj", w_.z.D, w_.z.F, job.model.mlp_bias)),
      norm1_(declare_norm(w_, "input_layernorm", w_.z.T, w_.z.D)),
      norm2_(declare_norm(w_, "post_attention_layernorm", w_.z.T, w_.z.D)),
      attention_(declare_attention(w_)) {
  const std::int64_t T = w_.z.T, rows = w_.of(T * w_.z.D), wide = w_.of(T * w_.z.F);
  if (job.model.has_query_key_norms()) {
    query_norm_ = declare_norm(w_, "self_attn.q_norm", T * w_.z.H, w_.z.d);
    key_norm_ = declare_norm(w_, "self_attn.k_norm", T * w_.z.K, w_.z.d);
  }
  x_ = w_.tensor(rows);
  q0_ = w_.tensor(w_.of(T * to_q_.out));
  k0_ = w_.tensor(w_.of(T * to_k_.out));
  v_ = w_.tensor(w_.of(T * to_v_.out));
  q_ = w_.tensor(w_.bytes(q0_));
  k_ = w_.tensor(w_.bytes(k0_));
  if (repeats()) {
    all_k_ = w_.tensor(w_.bytes(q0_));
    all_v_ = w_.tensor(w_.bytes(q0_));
  }
  projected_ = w_.tensor(rows);
  h_ = w_.tensor(rows);
  gate_ = w_.tensor(wide);
  silu_ = w_.tensor(wide);
  up_ = w_.tensor(wide);
  product_ = w_.tensor(wide);
  down_ = w_.tensor(rows);
  y_ = w_.tensor(rows);
  residual_ = w_.tensor(rows);
  if (casts_tables() && !site.is_unit) {
    cosines_ = w_.tensor(2 * w_.z.S * w_.z.d);
    sines_ = w_.tensor(2 * w_.z.S * w_.z.d);
  } else if (casts_tables()) {
    tables_ = w_.tensor(4 * w_.z.S * w_.z.d);
  }
  if (w_.is_transformers && site.is_first) {
    shared_cosines_ = w_.tensor(w_.of(w_.z.S * w_.z.d));
    shared_sines_ = w_.tensor(w_.of(w_.z.S * w_.z.d));
  }
  if (w_.is_transformers && site.is_first_checkpointed) positions_ = w_.tensor(8 * w_.z.S);
}

Segment EagerBlock::segment() {
  w_.segment.input = x_;
  w_.segment.output = y_;
  w_.segment.gradient = residual_;
  if (site_.is_checkpointed) {
    checkpointed_forward();
    recomputation();
  } else {
    forward();
  }
  backward();
  return std::move(w_.segment);
}

// Of aten::mm, with which selective checkpointing keeps all outputs or the 1st, the 3rd and so on; with a
// bias a product is aten::addmm.
EagerBlock::Projection EagerBlock::projection(std::string_view path, std::int64_t out,
                                              std::int64_t in, bool bias) {
  const CheckpointPlan& plan = w_.job.plan.checkpointing;
  const bool is_float8 = w_.plan.float8 != Float8Scaling::none;
  Projection l{{w_.module(path), out, in, bias, is_float8}, false};
  if (bias) return l;
  const bool is_odd = ++products_ % 2 == 1;
  l.is_kept = is_selective() && (plan.save_matmul || (plan.save_every_second_matmul && is_odd));
  return l;
}

bool EagerBlock::casts_tables() const {
  return !w_.is_transformers && !rope_is_complex(w_) &&
         w_.job.plan.precision.param != w_.job.plan.precision.storage;
}

void EagerBlock::enter_block() {
  if (tables_ != kNone) w_.write(tables_, "aten::_to_copy", {});
  w_.enter(root_);
}

// Queries and keys, with their norms, and values. Returns what is to be turned.
EagerBlock::QueryAndKey EagerBlock::project_to_heads(Pass pass, Slot n1) {
  const auto head = [&](const Projection& l, Slot y, const EagerNorm& norm) {
    project(pass, l, n1, y);
    if (!has_head_norms()) return y;
    if (pass == Pass::checkpointed) {
      const Slot out = norm_forward_unkept(w_, norm, y);
      if (!l.is_kept) w_.free({y});
      return out;
    }
    norm_forward(w_, norm, y);
    if (cast()) w_.free({y});  // the norm has a copy of its own
    return norm.output;
  };
  const Slot q = head(to_q_, q0_, query_norm_);
  const Slot k = head(to_k_, k0_, key_norm_);
  project(pass, to_v_, n1, v_);
  return {q, k};
}

void EagerBlock::rotate_and_repeat(Pass pass, const QueryAndKey& from) {
  w_.enter(attention_module_);
  if (cosines_ != kNone) {
    w_.write(cosines_, "aten::_to_copy", {});
    w_.write(sines_, "aten::_to_copy", {});
  }
  rope_forward(w_, from.q, q_);
  rope_forward(w_, from.k, k_);
  const bool keeps = pass == Pass::checkpointed;
  const bool keeps_products = keeps && !has_head_norms();
  const Slot q = keeps_products && to_q_.is_kept ? kNone : from.q,
             k = keeps_products && to_k_.is_kept ? kNone : from.k;
  if (w_.is_transformers) {
    w_.free({q, k});
  } else {
    w_.free({k, q});
  }
  if (!repeats()) return;
  w_.write(all_k_, "aten::clone", {k_});
  w_.free({k_});
  w_.write(all_v_, "aten::clone", {v_});
  if (!keeps || !to_v_.is_kept) w_.free({v_});
}

void EagerBlock::attend(bool keeps) {
  attention_forward(w_, attention_, {q_, keys(), values(), keeps, is_selective()});
}

void EagerBlock::forward() {
  w_.begin(w_.segment.forward);
  enter_block();
  norm_forward(w_, norm1_, x_);
  rotate_and_repeat(Pass::forward, project_to_heads(Pass::forward, norm1_.output));
  attend(true);
  attention_output(Pass::forward);
  w_.leave(attention_module_);
  w_.enter(root_);
  w_.write(h_, "aten::add", {x_, projected_});
  w_.free({projected_});
  norm_forward(w_, norm2_, h_);
  gate_and_up(Pass::forward);
  project(Pass::forward, to_down_, product_, down_);
  w_.leave(mlp_);
  w_.enter(root_);
  w_.write(y_, "aten::add", {h_, down_});
  w_.free({down_});
  // Composite 16-bit norms keep a copy of their own, so that nothing holds their input.
  const bool drops_inputs = composite() && cast();
  if (drops_inputs) w_.free({h_});
  w_.leave(root_);
  if (!drops_inputs) return;
  if (w_.is_transformers && site_.is_first) {
    w_.hand_over(x_, Shared::embedded);
  } else {
    w_.free({x_});
  }
}

void EagerBlock::project(Pass pass, const Projection& l, Slot x, Slot y) {
  w_.enter(l.module);
  if (pass != Pass::recomputed || !l.is_kept) w_.linear(l, x, y);
}

void EagerBlock::gate_and_up(Pass pass) {
  project(pass, to_gate_, norm2_.output, gate_);
  w_.enter(mlp_);
  w_.write(silu_, "aten::silu", {gate_});
  project(pass, to_up_, norm2_.output, up_);
  w_.enter(mlp_);
  w_.write(product_, "aten::mul", {silu_, up_});
}

// The output's projection, and what goes with attention's end. The math path's inputs are nobody's by
// then.
void EagerBlock::attention_output(Pass pass) {
  if (is_math() && w_.is_transformers) w_.free({attention_.result});
  project(pass, to_o_, attention_.out, projected_);
  w_.enter(attention_module_);
  if (!is_math()) return;
  w_.free({q_, keys(), values(), w_.is_transformers ? kNone : attention_.result});
}

Segment eager_block(const Job& job, const BlockSite& site) {
  return EagerBlock(job, site).segment();
}

}  // namespace foreshard::lowering
