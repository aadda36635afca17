// Operators that only move bytes. A sum of two tensors and a change of type have keys of their own;
// everything else is memory_bound: each operand is read once and the result written once.
#include <algorithm>

#include "traces/kineto/costs/key_rules.hpp"

namespace foreshard::traces::kineto {
namespace {

using Key = std::optional<OperatorKey>;

OperatorKey moved(std::int64_t read, std::int64_t written) {
  return keyed(Operator::memory_bound, DType::fp32, {read, written});
}

// The shape that both stretch to, nothing where they do not fit.
std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims out;
  const std::size_t rank = std::max(a.rank(), b.rank());
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i + a.rank() < rank ? 1 : a[i + a.rank() - rank];
    const std::int64_t y = i + b.rank() < rank ? 1 : b[i + b.rank() - rank];
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out.add(std::max(x, y));
  }
  return out;
}

// As PyTorch promotes: floating types before others, then the larger; of fp16 and bf16, fp32.
ElementType promoted(const ElementType& a, const ElementType& b) {
  if (a.is_floating != b.is_floating) return a.is_floating ? a : b;
  if (a.size != b.size) return a.size > b.size ? a : b;
  return a == b ? a : element_type("float");
}

enum class Result : std::uint8_t { promoted, in_place, truth };

// The first `count` arguments, tensors or numbers, element by element.
Key pointwise(const Arguments& arguments, int count, Result result) {
  std::int64_t read = 0;
  std::optional<Tensor> whole;
  for (int n = 0; n < count; ++n) {
    if (arguments.is_scalar(n)) continue;
    const auto operand = arguments.tensor(n);
    if (!operand) return {};
    read += operand->bytes();
    if (!whole) {
      whole = operand;
      continue;
    }
    const auto dims = broadcast(whole->dims, operand->dims);
    if (!dims) return {};
    whole->dims = *dims;
    if (result != Result::in_place) whole->type = promoted(whole->type, operand->type);
  }
  if (!whole || !whole->type.is_floating) return {};
  const auto elements = product(whole->dims);
  if (!elements) return {};
  whole->elements = *elements;
  return moved(read, result == Result::truth ? whole->elements : whole->bytes());
}

template <int count, Result result = Result::promoted>
Key pointwise_rule(const Arguments& arguments) {
  return pointwise(arguments, count, result);
}

// The sum of two tensors is models' add, in the wider type of the two.
template <Result result>
Key add(const Arguments& arguments) {
  const auto a = arguments.tensor(0), b = arguments.tensor(1);
  const bool is_plain = a && b && a->dims == b->dims && a->type.type && b->type.type &&
                        a->type.is_floating && b->type.is_floating &&
                        (a->type == b->type || a->type.size != b->type.size) &&
                        (result != Result::in_place || a->type.size >= b->type.size);
  if (!is_plain) return pointwise(arguments, 2, result);
  const bool is_a_wider = a->type.size >= b->type.size;
  OperatorKey out = keyed(Operator::add, *(is_a_wider ? a : b)->type.type, {a->elements});
  out.key.dtype2 = *(is_a_wider ? b : a)->type.type;
  return out;
}

// (to, from, non_blocking)
Key copy(const Arguments& arguments) {
  const auto to = arguments.tensor(0), from = arguments.tensor(1);
  if (!to || !from) return {};
  if (to->type == from->type || !to->type.type || !from->type.type || to->dims != from->dims) {
    return moved(from->bytes(), to->bytes());
  }
  OperatorKey out = keyed(Operator::cast, *to->type.type, {to->elements});
  out.key.dtype2 = *from->type.type;
  return out;
}

// Over the dimensions that argument `at` lists; none listed is all. The result has the input's type.
template <int at>
Key reduction(const Arguments& arguments) {
  const auto input = arguments.tensor(0);
  const auto over = integers(arguments.value(at));
  if (!input || !input->type.is_floating || !over) return {};
  if (!arguments.value(at + 2).empty()) return {};  // another type
  std::array<bool, Dims::kMax> is_summed{};
  if (over->rank() == 0) is_summed.fill(true);
  const auto rank = static_cast<std::int64_t>(input->dims.rank());
  for (const std::int64_t dim : over->all()) {
    const std::int64_t place = dim < 0 ? dim + rank : dim;
    if (place < 0 || place >= rank) return {};
    is_summed[static_cast<std::size_t>(place)] = true;
  }
  std::int64_t left = 1;
  for (std::size_t i = 0; i < input->dims.rank(); ++i) left *= is_summed[i] ? 1 : input->dims[i];
  return moved(input->bytes(), left * input->type.size);
}

// (x, dimension, whether the result of half precision is fp32)
Key softmax(const Arguments& arguments) {
  const auto x = arguments.tensor(0);
  if (!x || !x->type.is_floating) return {};
  const std::string_view widens = arguments.value(2);
  if (widens != "False" && widens != "True") return {};
  return moved(x->bytes(), widens == "True" ? 4 * x->elements : x->bytes());
}

// (gradient, result, dimension, type of the input)
Key softmax_backward(const Arguments& arguments) {
  const auto gradient = arguments.tensor(0), result = arguments.tensor(1);
  const ElementType input = element_type_numbered(arguments.value(3));
  if (!gradient || !result || gradient->dims != result->dims || input.size == 0) return {};
  return moved(gradient->bytes() + result->bytes(), result->elements * input.size);
}

constexpr std::int64_t kStatistic = 4;  // bytes of a mean or a deviation: fp32

// (x, shape, weight, bias, eps) -> y, mean, rstd
Key layer_norm(const Arguments& arguments) {
  const auto x = arguments.tensor(0), weight = arguments.tensor(2), bias = arguments.tensor(3);
  if (!x || !weight || !bias || x->elements % weight->elements != 0) return {};
  const std::int64_t rows = x->elements / weight->elements;
  return moved(x->bytes() + weight->bytes() + bias->bytes(), x->bytes() + 2 * rows * kStatistic);
}

// (gradient, x, shape, mean, rstd, weight, bias, which gradients) -> those of x, weight and bias
Key layer_norm_backward(const Arguments& arguments) {
  const auto gradient = arguments.tensor(0), x = arguments.tensor(1), mean = arguments.tensor(3),
             rstd = arguments.tensor(4), weight = arguments.tensor(5), bias = arguments.tensor(6);
  if (!gradient || !x || !mean || !rstd || !weight || !bias) return {};
  if (arguments.value(7) != "[True, True, True]") return {};
  return moved(gradient->bytes() + x->bytes() + mean->bytes() + rstd->bytes() + weight->bytes(),
               x->bytes() + weight->bytes() + bias->bytes());
}

constexpr auto kUnary = pointwise_rule<1>;
constexpr auto kUnaryInPlace = pointwise_rule<1, Result::in_place>;
constexpr auto kBinary = pointwise_rule<2>;
constexpr auto kBinaryInPlace = pointwise_rule<2, Result::in_place>;
constexpr auto kTernary = pointwise_rule<3>;
constexpr auto kTernaryInPlace = pointwise_rule<3, Result::in_place>;
constexpr auto kComparison = pointwise_rule<2, Result::truth>;

constexpr std::pair<std::string_view, KeyRule> kMemoryRules[] = {
    {"aten::add", add<Result::promoted>},
    {"aten::add_", add<Result::in_place>},
    {"aten::copy_", copy},
    {"aten::abs", kUnary},
    {"aten::cos", kUnary},
    {"aten::exp", kUnary},
    {"aten::gelu", kUnary},
    {"aten::log", kUnary},
    {"aten::neg", kUnary},
    {"aten::reciprocal", kUnary},
    {"aten::relu", kUnary},
    {"aten::rsqrt", kUnary},
    {"aten::sigmoid", kUnary},
    {"aten::silu", kUnary},
    {"aten::sin", kUnary},
    {"aten::sqrt", kUnary},
    {"aten::tanh", kUnary},
    {"aten::exp_", kUnaryInPlace},
    {"aten::neg_", kUnaryInPlace},
    {"aten::relu_", kUnaryInPlace},
    {"aten::rsqrt_", kUnaryInPlace},
    {"aten::sigmoid_", kUnaryInPlace},
    {"aten::silu_", kUnaryInPlace},
    {"aten::sqrt_", kUnaryInPlace},
    {"aten::clamp_min", kBinary},
    {"aten::div", kBinary},
    {"aten::gelu_backward", kBinary},
    {"aten::masked_fill", kBinary},
    {"aten::maximum", kBinary},
    {"aten::minimum", kBinary},
    {"aten::mul", kBinary},
    {"aten::pow", kBinary},
    {"aten::sigmoid_backward", kBinary},
    {"aten::silu_backward", kBinary},
    {"aten::sub", kBinary},
    {"aten::tanh_backward", kBinary},
    {"aten::threshold_backward", kBinary},
    {"aten::clamp_min_", kBinaryInPlace},
    {"aten::div_", kBinaryInPlace},
    {"aten::masked_fill_", kBinaryInPlace},
    {"aten::mul_", kBinaryInPlace},
    {"aten::pow_", kBinaryInPlace},
    {"aten::sub_", kBinaryInPlace},
    {"aten::threshold_", kUnaryInPlace},
    {"aten::addcdiv", kTernary},
    {"aten::addcmul", kTernary},
    {"aten::clamp", kTernary},
    {"aten::lerp", kTernary},
    {"aten::where", kTernary},
    {"aten::addcdiv_", kTernaryInPlace},
    {"aten::addcmul_", kTernaryInPlace},
    {"aten::clamp_", kTernaryInPlace},
    {"aten::lerp_", kTernaryInPlace},
    {"aten::eq", kComparison},
    {"aten::ge", kComparison},
    {"aten::gt", kComparison},
    {"aten::le", kComparison},
    {"aten::lt", kComparison},
    {"aten::ne", kComparison},
    {"aten::amax", reduction<1>},
    {"aten::mean", reduction<1>},
    {"aten::sum", reduction<1>},
    {"aten::linalg_vector_norm", reduction<2>},
    {"aten::_softmax", softmax},
    {"aten::_log_softmax", softmax},
    {"aten::_softmax_backward_data", softmax_backward},
    {"aten::_log_softmax_backward_data", softmax_backward},
    {"aten::native_layer_norm", layer_norm},
    {"aten::native_layer_norm_backward", layer_norm_backward},
};

}  // namespace

Rules memory_rules() {
  return kMemoryRules;
}

}  // namespace foreshard::traces::kineto
