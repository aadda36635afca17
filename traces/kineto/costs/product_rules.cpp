// Matrix products: aten::mm and its kin. aten::linear and aten::matmul launch one of these.
#include "traces/kineto/costs/key_rules.hpp"

namespace foreshard::traces::kineto {
namespace {

using Key = std::optional<OperatorKey>;

// Two matrices, or two stacks of them, that fit together and have one type.
struct Operands {
  Tensor a, b;
  DType type;
};

std::optional<Operands> operands(const Arguments& arguments, int first, std::size_t rank) {
  const auto a = arguments.tensor(first), b = arguments.tensor(first + 1);
  if (!a || !b || a->dims.rank() != rank || b->dims.rank() != rank || a->type.type == std::nullopt)
    return {};
  if (a->type != b->type || a->dims.last() != b->dims[rank - 2]) return {};
  if (rank == 3 && a->dims[0] != b->dims[0]) return {};
  return Operands{*a, *b, *a->type.type};
}

Key matrix_product(const Arguments& arguments, int first, std::int64_t bias) {
  const auto of = operands(arguments, first, 2);
  if (!of) return {};
  const Dims &a = of->a.dims, &b = of->b.dims;
  OperatorKey out = keyed(Operator::matmul, of->type, {a[0], b[1], a[1], bias});
  if (!arguments.has_strides()) return out;
  if (arguments.is_transposed(first, a)) {
    out.in_backward = Operator::matmul_weight_gradient;
  } else if (!arguments.is_transposed(first + 1, b)) {
    out.in_backward = Operator::matmul_input_gradient;
  }
  return out;
}

Key mm(const Arguments& arguments) {
  return matrix_product(arguments, 0, 0);
}

// Only a vector is a bias.
Key addmm(const Arguments& arguments) {
  const auto bias = arguments.tensor(0);
  return bias && bias->dims.rank() == 1 ? matrix_product(arguments, 1, 1) : Key();
}

Key batched(const Arguments& arguments, int first, std::int64_t accumulate) {
  const auto of = operands(arguments, first, 3);
  if (!of) return {};
  const Dims &a = of->a.dims, &b = of->b.dims;
  if (a[0] == 1 && accumulate == 0) {
    return keyed(Operator::matmul, of->type, {a[1], b[2], a[2]});
  }
  return keyed(Operator::batched_matmul, of->type, {a[0], a[1], b[2], a[2], accumulate});
}

Key bmm(const Arguments& arguments) {
  return batched(arguments, 0, 0);
}

// With beta 0 it reads nothing of what it writes over.
Key baddbmm(const Arguments& arguments) {
  return batched(arguments, 1, arguments.value(3) == "0" ? 0 : 1);
}

// (a, b, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum)
Key scaled_mm(const Arguments& arguments) {
  const auto a = arguments.tensor(0), b = arguments.tensor(1);
  if (!a || !b || a->dims.rank() != 2 || b->dims.rank() != 2 || a->dims[1] != b->dims[0]) return {};
  const auto out = element_type_numbered(arguments.value(6)).type;
  if (a->type.type != DType::fp8 || b->type.type != DType::fp8 || !out) return {};
  OperatorKey key =
      keyed(Operator::matmul, DType::fp8,
            {a->dims[0], b->dims[1], a->dims[1], arguments.tensor(4).has_value() ? 1 : 0});
  key.key.dtype2 = *out;
  return key;
}

constexpr std::array<std::pair<std::string_view, KeyRule>, 5> kProductRules{{
    {"aten::mm", mm},
    {"aten::addmm", addmm},
    {"aten::bmm", bmm},
    {"aten::baddbmm", baddbmm},
    {"aten::_scaled_mm", scaled_mm},
}};

}  // namespace

Rules product_rules() {
  return kProductRules;
}

}  // namespace foreshard::traces::kineto
