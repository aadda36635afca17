// The backward graph of a compiled block, with what it computes again.
#include "models/lowering/operators/pytorch/compiled_block.hpp"

namespace foreshard::lowering {

void CompiledBlock::backward() {
  std::vector<Slot> inputs = kept();
  inputs.push_back(dy_);
  CompiledLinear g(w_, inputs);
  if (is_checkpointed()) recompute_mlp(g);
  const std::size_t recomputed = g.size();
  mlp_backward(g);
  attention_backward(g);

  const std::vector<const Projection*> layers = {&to_q_,    &to_k_,  &to_v_,   &to_o_,
                                                 &to_gate_, &to_up_, &to_down_};
  std::vector<Slot> returned = {dx_, norm1_.gradient, norm2_.gradient};
  for (const Projection* const l : layers) {
    returned.push_back(l->gradient);
    if (l->bias) returned.push_back(l->bias_gradient);
  }
  const auto begin_backward = [this] {
    w_.begin(is_checkpointed() ? w_.segment.recomputed_backward : w_.segment.backward,
             Thread::autograd);
    w_.enter(root_);
    if (!is_checkpointed()) return;
    w_.recompute();
    w_.enter(root_);
  };
  w_.begin(w_.segment.recomputation, Thread::autograd);
  if (is_checkpointed()) w_.enter(root_);
  g.write(returned, recomputed, begin_backward);
  w_.segment.new_gradient = g.storage(dx_);
  // The graph gives all gradients at once.
  for (const Slot gradient : returned) {
    if (gradient != dx_) w_.ready(gradient);
  }
  w_.accumulate();
  w_.leave(root_);
}

void CompiledBlock::recompute_attention(CompiledLinear& g) {
  g.operand("triton_red_fused__fused_rms_norm", {x_}, {norm1_.rstd}, norm1_.output);
  project(g, to_q_, norm1_.output, q0_, true);
  project(g, to_k_, norm1_.output, k0_, true);
  project(g, to_v_, norm1_.output, v0_, true);
  rotate_and_repeat(g);
  attend(g, true);
}

void CompiledBlock::recompute_mlp(CompiledLinear& g) {
  if (!keeps_attention()) recompute_attention(g);
  project(g, to_o_, attention_.out, projected_, true);
  g.operand("triton_red_fused__fused_rms_norm_add", {x_, projected_}, {norm2_.rstd}, norm2_.output);
  project(g, to_gate_, norm2_.output, gate_, true);
  project(g, to_up_, norm2_.output, up_, true);
}

void CompiledBlock::weight_gradient(CompiledLinear& g, const Projection& l, Slot dy, Slot x) {
  g.weight_gradient(l, dy, x, l.gradient);
  if (l.bias) g.fused("triton_red_fused_sum", {dy}, {l.bias_gradient});
}

void CompiledBlock::mlp_backward(CompiledLinear& g) {
  if (g.is_float8()) return narrow_mlp_backward(g);
  if (!is_checkpointed()) weight_gradient(g, to_down_, dy_, product_);
  const Slot d_product = g.input_gradient(to_down_, dy_);
  const Slot d_up = w_.tensor(w_.bytes(up_));
  // The gradient of the gate takes the place of `up`, unless the product is computed here as well.
  const Slot d_gate = is_checkpointed() ? w_.tensor(w_.bytes(gate_)) : up_;
  std::vector<Slot> writes = {d_up, d_gate};
  if (is_checkpointed()) writes.insert(writes.begin(), product_);
  g.fused("triton_poi_fused_mul_silu_silu_backward", {d_product, gate_, up_}, writes);
  if (is_checkpointed()) weight_gradient(g, to_down_, dy_, product_);
  weight_gradient(g, to_up_, d_up, norm2_.output);
  from_up_ = g.input_gradient(to_up_, d_up);
  weight_gradient(g, to_gate_, d_gate, norm2_.output);
  from_gate_ = g.input_gradient(to_gate_, d_gate);
  // Where attention was kept the first norm is computed again here, in the kernel of the second one's
  // backward.
  dh_ = w_.tensor(w_.bytes(x_));
  writes = {dh_};
  if (keeps_attention()) writes = {norm1_.rstd, dh_, norm1_.output};
  g.fused("triton_red_fused__fused_rms_norm_backward_add",
          {x_, projected_, norm2_.rstd, from_up_, from_gate_, dy_}, writes);
}

// As Inductor arranges it in float8. By row, the scales of what reached SwiGLU's product split its backward: a
// gradient of `up` in the compute type, one of what the other factor was made by in fp32.
void CompiledBlock::narrow_mlp_backward(CompiledLinear& g) {
  const Slot d_product = g.input_gradient(to_down_, dy_);
  const Slot d_up = w_.tensor(w_.bytes(up_)), d_gate = w_.tensor(w_.bytes(gate_));
  const std::vector<Slot> reads = {d_product, gate_, up_};
  std::vector<Slot> writes;
  const auto write = [&writes](const std::vector<Slot>& slots) {
    writes.insert(writes.end(), slots.begin(), slots.end());
  };
  if (g.is_by_row()) {
    g.find_largest({gate_, up_});
    const Slot d_silu = w_.tensor(4 * w_.z.T * w_.z.F);
    write(g.cast_columns(product_));
    write(g.cast_rows(d_up));
    write({d_up, d_silu});
    g.derived("", {d_silu, gate_}, d_gate);
  } else {
    g.find_largest(reads);
    write(g.cast_columns(product_));
    for (const Slot gradient : {d_up, d_gate}) {
      write(g.cast_rows(gradient));
      write(g.cast_columns(gradient));
    }
  }
  g.fused("triton_poi_fused__to_copy_mul_silu_silu_backward_t", reads, writes);
  weight_gradient(g, to_down_, dy_, product_);
  from_up_ = g.input_gradient(to_up_, d_up);
  from_gate_ = g.input_gradient(to_gate_, d_gate);

  const std::vector<Slot> norm = {x_, projected_, norm2_.rstd};
  std::vector<Slot> given = norm;
  if (g.is_by_row()) {
    g.fused("triton_poi_fused__to_copy_add_mul", {from_up_, from_gate_}, {from_up_});
    given.push_back(from_up_);
    g.find_largest(given);
  } else {
    g.find_largest(norm);
    given.insert(given.end(), {from_up_, from_gate_});
  }
  given.push_back(dy_);
  dh_ = w_.tensor(w_.bytes(x_));
  writes = {dh_};
  if (!g.has_columns(norm2_.output)) write(g.cast_columns(norm2_.output));
  if (g.is_by_row()) write(g.cast_rows(dh_));
  if (keeps_attention()) writes.push_back(norm1_.rstd);
  g.fused("triton_red_fused__fused_rms_norm_backward_add_t", given, writes);
  weight_gradient(g, to_up_, d_up, norm2_.output);
  weight_gradient(g, to_gate_, d_gate, norm2_.output);
}

void CompiledBlock::attention_backward(CompiledLinear& g) {
  const Slot d_out = g.input_gradient(to_o_, dh_);
  g.rescale(d_out);
  if (keeps_attention()) {
    if (g.is_float8()) {
      g.operand("triton_red_fused__fused_rms_norm", {x_, norm1_.rstd}, {}, norm1_.output);
    }
    project(g, to_k_, norm1_.output, k0_, true);
    project(g, to_q_, norm1_.output, q0_, true);
    project(g, to_v_, norm1_.output, v0_, true);
    rotate_and_repeat(g);
  }
  const std::int64_t kv = attention_.kv_heads;
  const auto tensor = [this](std::int64_t heads) {
    return w_.tensor(w_.of(w_.z.T * heads * w_.z.d));
  };
  const AttentionGradients results{tensor(w_.z.H), tensor(kv), tensor(kv)};
  g.call({d_out, q_, k_, values(), attention_.out, attention_.lse, attention_.random_state,
          attention_.seed},
         {results.dq, results.dk, results.dv}, [this, &g, d_out, results] {
           lowering::attention_backward(w_, attention_,
                                        {g.storage(d_out), g.storage(q_), g.storage(k_),
                                         g.storage(values()), false, results});
         });
  Slot dv = results.dv;
  if (repeats()) {
    dv = tensor(w_.z.K);
    g.derived("triton_poi_fused_sum", {results.dv}, dv);
  }
  from_v_ = g.input_gradient(to_v_, dv);
  const Slot dk = rotate_back(g, results.dk, w_.z.K, kv);
  from_k_ = g.input_gradient(to_k_, dk);
  const Slot dq = rotate_back(g, results.dq, w_.z.H, w_.z.H);
  from_q_ = g.input_gradient(to_q_, dq);
  norms_backward(g);
  weight_gradient(g, to_o_, dh_, attention_.out);
  weight_gradient(g, to_v_, dv, norm1_.output);
  weight_gradient(g, to_k_, dk, norm1_.output);
  weight_gradient(g, to_q_, dq, norm1_.output);
}

// `given_heads`: of the gradient, which is summed over the heads that shared one.
Slot CompiledBlock::rotate_back(CompiledLinear& g, Slot dq, std::int64_t heads,
                                std::int64_t given_heads) {
  const std::int64_t elements = w_.z.T * heads * w_.z.d;
  const Slot out = w_.tensor(w_.of(elements));
  if (rotary_of(w_.job.plan) == Rotary::half) {
    g.derived("triton_poi_fused_add_mul_neg_slice_backward", {dq}, out);
    return out;
  }
  Slot wide = dq;
  if (w_.z.is_16_bit || given_heads != heads) {
    wide = w_.tensor(4 * elements);
    g.fused("triton_poi_fused__to_copy_sum_view_as_complex", {dq}, {wide});
  }
  if (conjugate_ == kNone) {  // once for both tensors
    conjugate_ = w_.tensor(4 * w_.z.S * w_.z.d);
    g.fallback("aten::clone", {}, conjugate_);
  }
  const Slot turned = w_.tensor(4 * elements);
  g.fallback("aten::mul", {wide, conjugate_}, turned);
  g.derived("triton_poi_fused__to_copy_view", {turned}, out);
  return out;
}

// The first norm's backward and the gradients of both weights, of which either one kernel makes partial
// sums on its way.
void CompiledBlock::norms_backward(CompiledLinear& g) {
  std::vector<Slot> reads = {x_,  norm1_.rstd, from_v_,    from_k_,    from_q_,
                             dh_, from_up_,    from_gate_, projected_, norm2_.rstd},
                    writes = {dx_};
  if (g.is_float8()) {
    reads.resize(6);  // the second norm's was before
    const std::size_t products = is_checkpointed() ? 1 : 3;
    if (!g.has_columns(norm1_.output)) {
      g.find_largest({x_, norm1_.rstd});
      for (const Slot cast : g.cast_columns(norm1_.output, products)) writes.push_back(cast);
    }
  }
  constexpr std::int64_t kRowsOfPart = 16;
  const Slot partial = w_.tensor(2 * 4 * ceil_div(w_.z.T, kRowsOfPart) * w_.z.D);
  writes.push_back(partial);
  if (g.is_by_row()) writes.push_back(w_.tensor(4 * w_.z.T * w_.z.D));
  g.fused(g.is_float8() ? "triton_red_fused__fused_rms_norm_backward_add_t"
                        : "triton_per_fused__fused_rms_norm_backward_add",
          std::move(reads), writes);
  if (g.is_by_row())
    g.fused("triton_red_fused__fused_rms_norm_backward", {writes.back()}, {partial});
  const Slot sum2 = w_.tensor(4 * w_.z.D), sum1 = w_.tensor(4 * w_.z.D);
  g.fallback("aten::sum", {partial}, sum2);
  g.fallback("aten::sum", {partial}, sum1);
  g.fused("triton_poi_fused__fused_rms_norm_backward", {sum2}, {norm2_.gradient});
  g.fused("triton_poi_fused__fused_rms_norm_backward", {sum1}, {norm1_.gradient});
}

}  // namespace foreshard::lowering
