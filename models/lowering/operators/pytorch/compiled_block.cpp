#include "models/lowering/operators/pytorch/compiled_block.hpp"

namespace foreshard::lowering {

namespace {

LayerAttention unpadded_attention(const Job& job) {
  LayerAttention layer = layer_attention(job, false);
  layer.head_size = job.model.head_dim;
  return layer;
}

}  // namespace

CompiledBlock::CompiledBlock(const Job& job, const BlockSite& site)
    : w_(job),
      site_(site),
      root_(w_.module("")),
      to_q_(projection("self_attn.q_proj", w_.z.H * w_.z.d, w_.z.D, job.model.attention_bias)),
      to_k_(projection("self_attn.k_proj", w_.z.K * w_.z.d, w_.z.D, job.model.attention_bias)),
      to_v_(projection("self_attn.v_proj", w_.z.K * w_.z.d, w_.z.D, job.model.attention_bias)),
      to_o_(projection("self_attn.o_proj", w_.z.D, w_.z.H * w_.z.d, job.model.output_bias)),
      to_gate_(projection("mlp.gate_proj", w_.z.F, w_.z.D, job.model.mlp_bias)),
      to_up_(projection("mlp.up_proj", w_.z.F, w_.z.D, job.model.mlp_bias)),
      to_down_(projection("mlp.down_proj", w_.z.D, w_.z.F, job.model.mlp_bias)),
      norm1_(norm("input_layernorm")),
      norm2_(norm("post_attention_layernorm")),
      attention_(declare_attention(w_, unpadded_attention(job))) {
  const auto tokens = [this](std::int64_t width) { return w_.tensor(w_.of(w_.z.T * width)); };
  x_ = tokens(w_.z.D);
  q0_ = tokens(to_q_.out);
  k0_ = tokens(to_k_.out);
  v0_ = tokens(to_v_.out);
  q_ = tokens(to_q_.out);
  k_ = tokens(attention_.kv_heads * w_.z.d);
  if (repeats()) v_ = tokens(w_.z.H * w_.z.d);
  projected_ = tokens(w_.z.D);
  gate_ = tokens(w_.z.F);
  up_ = tokens(w_.z.F);
  product_ = tokens(w_.z.F);
  down_ = tokens(w_.z.D);
  dy_ = tokens(w_.z.D);
  dx_ = tokens(w_.z.D);
}

// The 1st, 3rd and so on of a block's products, or all of them, may be what selective checkpointing
// keeps.
CompiledBlock::Projection CompiledBlock::projection(std::string_view path, std::int64_t out,
                                                    std::int64_t in, bool bias) {
  const CheckpointPlan& plan = w_.job.plan.checkpointing;
  const bool is_odd = ++products_ % 2 == 1;
  const std::int32_t own = w_.module(path);
  Projection l{{.module = own, .called = own, .out = out, .in = in, .bias = bias}};
  l.is_kept = is_checkpointed() && plan.mode == CheckpointMode::selective &&
              (plan.save_matmul || (plan.save_every_second_matmul && is_odd));
  l.gradient = w_.gradient(l.module, out * in);
  if (bias) l.bias_gradient = w_.gradient(l.module, out, 1);
  return l;
}

CompiledBlock::Norm CompiledBlock::norm(std::string_view path) {
  Norm n;
  n.module = w_.module(path);
  n.output = w_.tensor(w_.of(w_.z.T * w_.z.D));
  n.rstd = w_.tensor(4 * w_.z.T);
  n.gradient = w_.gradient(n.module, w_.z.D);
  return n;
}

bool CompiledBlock::keeps_attention() const {
  return is_checkpointed() && saves_attention(w_.job.plan, attention_.kernel);
}

bool CompiledBlock::repeats() const {
  return attention_.kv_heads != w_.z.K;
}

Segment CompiledBlock::segment() {
  w_.segment.input = x_;
  w_.segment.output = is_checkpointed() ? projected_ : down_;
  if (is_checkpointed() && to_o_.is_kept) w_.segment.output = down_;
  w_.segment.gradient = dy_;
  forward();
  backward();
  return std::move(w_.segment);
}

void CompiledBlock::project(CompiledLinear& g, const Projection& l, Slot x, Slot y, bool again) {
  if (!again || !l.is_kept) g.linear(l, x, y);
}

// Inductor has no complex numbers: it copies to fp32 and calls the multiplication. Returns what is to be
// copied back; of the other arithmetic that is what was given.
Slot CompiledBlock::turned(CompiledLinear& g, Slot from, std::int64_t heads) {
  if (rotary_of(w_.job.plan) == Rotary::half) return from;
  const std::int64_t bytes = 4 * w_.z.T * heads * w_.z.d;
  const Slot product = w_.tensor(bytes);
  Slot wide = from;
  if (w_.z.is_16_bit) {
    wide = w_.tensor(bytes);
    g.fused("triton_poi_fused__to_copy_view_as_complex", {from}, {wide});
  }
  g.fallback("aten::mul", {wide}, product);
  return product;
}

void CompiledBlock::rotate_and_repeat(CompiledLinear& g) {
  const Slot q = turned(g, q0_, w_.z.H), k = turned(g, k0_, w_.z.K);
  const std::string_view name = rotary_of(w_.job.plan) == Rotary::half
                                    ? "triton_poi_fused_add_cat_mul_neg"
                                    : "triton_poi_fused__to_copy_clone_view";
  g.fused(name, {q}, {q_});
  g.fused(name, {k}, {k_});
  if (repeats()) g.fused("triton_poi_fused_clone_expand", {v0_}, {v_});
}

void CompiledBlock::attend(CompiledLinear& g, bool keeps) {
  std::vector<Slot> writes = {attention_.out};
  if (keeps) {
    writes.insert(writes.end(), {attention_.lse, attention_.random_state, attention_.seed});
  }
  g.call({q_, k_, values()}, std::move(writes), [this, &g, keeps] {
    attention_forward(w_, attention_,
                      {g.storage(q_), g.storage(k_), g.storage(values()), keeps, false});
    attention_in_rows(w_, attention_);
  });
}

// What forward hands to backward.
std::vector<Slot> CompiledBlock::kept() const {
  if (!is_checkpointed()) {
    std::vector<Slot> slots = {x_,
                               norm1_.rstd,
                               q_,
                               k_,
                               values(),
                               attention_.out,
                               gate_,
                               attention_.lse,
                               attention_.random_state,
                               norm2_.rstd,
                               up_,
                               projected_,
                               attention_.seed};
    if (w_.plan.float8 == Float8Scaling::none) {
      slots.insert(slots.end(), {norm1_.output, norm2_.output, product_});
    }
    return slots;
  }
  std::vector<Slot> slots = {x_};
  if (keeps_attention()) {
    slots.insert(slots.end(),
                 {attention_.out, attention_.lse, attention_.random_state, attention_.seed});
  }
  const auto keep = [&](const Projection& l, Slot slot) {
    if (l.is_kept) slots.push_back(slot);
  };
  keep(to_q_, q0_);
  keep(to_k_, k0_);
  keep(to_v_, v0_);
  keep(to_o_, projected_);
  keep(to_gate_, gate_);
  keep(to_up_, up_);
  return slots;
}

void CompiledBlock::forward() {
  w_.begin(is_checkpointed() ? w_.segment.checkpointed_forward : w_.segment.forward);
  w_.enter(root_);
  CompiledLinear g(w_, {x_});
  const bool saves_all = !is_checkpointed();
  const bool has_rstd = saves_all || g.is_float8();
  g.operand("triton_red_fused__fused_rms_norm", {x_}, {has_rstd ? norm1_.rstd : kNone},
            norm1_.output, 3);
  project(g, to_q_, norm1_.output, q0_, false);
  project(g, to_k_, norm1_.output, k0_, false);
  project(g, to_v_, norm1_.output, v0_, false);
  rotate_and_repeat(g);
  attend(g, saves_all || keeps_attention());
  project(g, to_o_, attention_.out, projected_, false);
  g.operand("triton_red_fused__fused_rms_norm_add", {x_, projected_},
            {has_rstd ? norm2_.rstd : kNone}, norm2_.output);
  project(g, to_gate_, norm2_.output, gate_, false);
  project(g, to_up_, norm2_.output, up_, false);
  // The product takes the place of a factor that nobody needs.
  Slot product = product_;
  if (!saves_all && !g.is_float8()) {
    if (!to_up_.is_kept) {
      product = up_;
    } else if (!to_gate_.is_kept) {
      product = gate_;
    }
  }
  g.operand("triton_poi_fused_mul_silu", {gate_, up_}, {}, product);
  project(g, to_down_, product, down_, false);
  g.fused("triton_poi_fused_add", {x_, projected_, down_}, {w_.segment.output});
  std::vector<Slot> returned = kept();
  returned.push_back(w_.segment.output);
  g.write(returned);
  w_.segment.output = g.storage(w_.segment.output);
  take_storage_of_kept(g);
  w_.leave(root_);
}

// What is kept may lie where another tensor lay: it takes its slot, and the other one gets its own.
void CompiledBlock::take_storage_of_kept(const CompiledLinear& g) {
  const std::vector<Slot*> all = {
      &q0_,           &k0_,           &v0_,      &q_,    &k_,         &v_,
      &gate_,         &up_,           &product_, &down_, &projected_, &norm1_.output,
      &norm2_.output, &attention_.out};
  std::vector<std::pair<Slot, Slot>> moves;
  for (const Slot slot : kept()) {
    if (slot != kNone && g.storage(slot) != slot) moves.emplace_back(slot, g.storage(slot));
  }
  for (const auto& [from, to] : moves) {
    for (Slot* const slot : all) {
      if (*slot == from) {
        *slot = to;
      } else if (*slot == to) {
        *slot = from;
      }
    }
  }
}

Segment compiled_block(const Job& job, const BlockSite& site) {
  return CompiledBlock(job, site).segment();
}

}  // namespace foreshard::lowering
