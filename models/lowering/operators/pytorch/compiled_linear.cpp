#include "models/lowering/operators/pytorch/compiled_linear.hpp"

namespace foreshard::lowering {

CompiledLinear::CompiledLinear(EagerWriter& writer, std::vector<Slot> inputs)
    : CompiledGraph(writer, std::move(inputs)), w_(writer), scaling_(writer.plan.float8) {}

CostKey CompiledLinear::key(Operator op, std::array<std::int64_t, 5> dims) const {
  return is_float8() ? CostKey{op, DType::fp8, w_.type, w_.type, dims} : w_.key(op, dims);
}

Slot CompiledLinear::narrowed(Slot x, Scale scale, bool by_column) {
  if (!is_float8()) return x;
  const bool is_by_tensor = scaling_ == Float8Scaling::tensorwise;
  Slot& cast = narrowed_.try_emplace({x, by_column && !is_by_tensor}, kNone).first->second;
  if (cast != kNone) return cast;
  cast = w_.tensor(w_.bytes(x) / w_.z.e);
  if (!is_by_tensor) {
    const Slots read = by_column ? Slots{x, x} : Slots{x};
    fused("triton_red_fused__to_copy_abs_amax_clamp_mul", read, {cast});
    return cast;
  }
  if (scale == Scale::to_compute && !is_fused(x)) {
    fused("triton_red_fused_abs_max", {x}, {w_.tensor(4)});
  }
  fused("triton_poi_fused__to_copy_clamp_mul", {x}, {cast});
  return cast;
}

Slot CompiledLinear::narrowed_weight(const Linear& l, Scale scale) {
  const ParameterRef weight{l.module, 0};
  const std::int64_t elements = l.out * l.in;
  const Slot cast = w_.tensor(elements);
  const bool is_by_tensor = scaling_ == Float8Scaling::tensorwise;
  if (is_by_tensor && scale == Scale::to_compute) {
    fused("triton_red_fused_abs_max", weight, w_.of(elements), w_.tensor(4));
  }
  fused(is_by_tensor ? "triton_poi_fused__to_copy_clamp_mul"
                     : "triton_red_fused__to_copy_abs_amax_clamp_mul",
        weight, w_.of(elements), cast);
  return cast;
}

void CompiledLinear::linear(const Linear& l, Slot x, Slot y) {
  const CostKey of = key(Operator::matmul, {w_.z.T, l.out, l.in, l.bias ? 1 : 0});
  if (!is_float8()) return product(y, of, x, ParameterRef{l.module, 0});
  const Slot narrow = narrowed(x, Scale::to_compute, false);
  product(y, of, narrow, narrowed_weight(l, Scale::to_compute));
}

Slot CompiledLinear::input_gradient(const Linear& l, Slot dy) {
  const Slot dx = w_.tensor(w_.of(w_.z.T * l.in));
  const CostKey of = key(Operator::matmul_input_gradient, {w_.z.T, l.in, l.out, 0});
  if (is_float8()) {
    const Slot narrow = narrowed(dy, Scale::to_compute, false);
    product(dx, of, narrow, narrowed_weight(l, Scale::kept));
  } else {
    product(dx, of, dy, ParameterRef{l.module, 0});
  }
  return dx;
}

void CompiledLinear::weight_gradient(const Linear& l, Slot dy, Slot x, Slot dw) {
  const Slot left = narrowed(dy, Scale::to_compute, true);
  product(dw, key(Operator::matmul_weight_gradient, {l.out, l.in, w_.z.T}), left,
          narrowed(x, Scale::kept, true));
}

}  // namespace foreshard::lowering
