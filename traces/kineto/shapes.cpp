#include "traces/kineto/shapes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "traces/kineto/json_text.hpp"

namespace foreshard::traces::kineto {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 50;  // elements or bytes: more are damage

// The n-th element of a JSON array, empty where it has fewer.
std::string_view element(std::string_view array, int n) {
  std::size_t at = 1;
  for (;; --n) {
    at = skip_space(array, at);
    const std::size_t end = value_end(array, at);
    if (end == kNotThere || end == at) return {};
    if (n == 0) return array.substr(at, end - at);
    at = skip_space(array, end);
    if (at >= array.size() || array[at] != ',') return {};
    ++at;
  }
}

// "[16, 559, 1024]"; empty where it is no list of positive numbers.
std::vector<std::int64_t> numbers(std::string_view list) {
  std::vector<std::int64_t> out;
  if (!list.starts_with('[')) return out;
  for (std::string_view item = element(list, 0); !item.empty();
       item = element(list, static_cast<int>(out.size()))) {
    constexpr std::size_t kMostDimensions = 8;
    std::int64_t value = 0;
    const auto parsed = std::from_chars(item.data(), item.data() + item.size(), value);
    if (parsed.ec != std::errc() || value <= 0 || value > kLargest) return {};
    if (out.size() == kMostDimensions) return {};
    out.push_back(value);
  }
  return out;
}

std::string_view type_word(std::string_view types, int n) {
  const std::string_view item = element(types, n);
  return item.size() >= 2 && item.front() == '"' ? item.substr(1, item.size() - 2)
                                                 : std::string_view();
}

std::optional<DType> type_of(std::string_view word) {
  if (word == "float" || word == "Float") return DType::fp32;
  if (word == "c10::BFloat16" || word == "BFloat16") return DType::bf16;
  if (word == "double" || word == "Double") return DType::fp64;
  if (word == "int" || word == "Int") return DType::int32;
  return std::nullopt;
}

// Bytes of an element, by PyTorch's names of scalar types; 0 where unknown.
std::int64_t size_of(std::string_view type) {
  if (type == "Float" || type == "Int") return 4;
  if (type == "BFloat16" || type == "Half" || type == "Short") return 2;
  if (type == "Double" || type == "Long") return 8;
  if (type == "Byte" || type == "Char" || type == "Bool" || type.starts_with("Float8")) return 1;
  return 0;
}

// 0 where the product is too large to be true.
std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t first, std::size_t last) {
  std::int64_t out = 1;
  for (std::size_t i = first; i < last; ++i) {
    if (__builtin_mul_overflow(out, dims[i], &out) || out > kLargest) return 0;
  }
  return out;
}

CostKey key(Operator op, DType type, std::array<std::int64_t, 5> dims) {
  return {op, type, type, type, dims};
}

// Whether the n-th argument is a transposed view of a matrix: its rows are contiguous columns.
bool is_transposed(const RawEvent& event, int n, const std::vector<std::int64_t>& dims) {
  const std::vector<std::int64_t> strides = numbers(element(event.input_strides, n));
  return strides.size() == 2 && strides[0] == 1 && strides[1] == dims[0] && dims[0] > 1;
}

std::optional<OperatorKey> matrix_product(const RawEvent& event, int first, std::int64_t bias) {
  const auto a = numbers(element(event.input_dims, first));
  const auto b = numbers(element(event.input_dims, first + 1));
  const auto type = type_of(type_word(event.input_types, first));
  if (!type || a.size() != 2 || b.size() != 2 || a[1] != b[0]) return std::nullopt;
  OperatorKey out{key(Operator::matmul, *type, {a[0], b[1], a[1], bias}), Operator::matmul};
  if (event.input_strides.empty()) return out;
  if (is_transposed(event, first, a)) {
    out.in_backward = Operator::matmul_weight_gradient;
  } else if (!is_transposed(event, first + 1, b)) {
    out.in_backward = Operator::matmul_input_gradient;
  }
  return out;
}

std::optional<OperatorKey> batched_product(const RawEvent& event) {
  const auto a = numbers(element(event.input_dims, 0));
  const auto b = numbers(element(event.input_dims, 1));
  const auto type = type_of(type_word(event.input_types, 0));
  if (!type || a.size() != 3 || b.size() != 3 || a[2] != b[1]) return std::nullopt;
  const std::int64_t rows = product(a, 0, 2);
  if (rows == 0) return std::nullopt;
  return OperatorKey{key(Operator::matmul, *type, {rows, b[2], a[2], 0}), Operator::matmul};
}

std::optional<OperatorKey> linear(const RawEvent& event) {
  const auto x = numbers(element(event.input_dims, 0));
  const auto w = numbers(element(event.input_dims, 1));
  const auto type = type_of(type_word(event.input_types, 0));
  if (!type || x.empty() || w.size() != 2 || x.back() != w[1]) return std::nullopt;
  const std::int64_t rows = product(x, 0, x.size() - 1);
  if (rows == 0) return std::nullopt;
  const std::int64_t bias = numbers(element(event.input_dims, 2)).empty() ? 0 : 1;
  return OperatorKey{key(Operator::matmul, *type, {rows, w[0], w[1], bias}), Operator::matmul};
}

std::optional<OperatorKey> embedding(const RawEvent& event) {
  const auto weight = numbers(element(event.input_dims, 0));
  const auto tokens = numbers(element(event.input_dims, 1));
  const auto type = type_of(type_word(event.input_types, 0));
  if (!type || weight.size() != 2 || tokens.empty()) return std::nullopt;
  const std::int64_t rows = product(tokens, 0, tokens.size());
  if (rows == 0) return std::nullopt;
  return OperatorKey{key(Operator::embedding, *type, {rows, weight[0], weight[1]}),
                     Operator::embedding};
}

Operator collective_named(std::string_view word) {
  const auto has = [&](std::string_view part) { return word.find(part) != std::string_view::npos; };
  if (has("allgather") || has("all_gather")) return Operator::all_gather;
  if (has("reduce_scatter")) return Operator::reduce_scatter;
  if (has("allreduce") || has("all_reduce")) return Operator::all_reduce;
  return Operator::kCount;
}

}  // namespace

bool has_operator_key(std::string_view name) {
  return name == "aten::mm" || name == "aten::addmm" || name == "aten::bmm" ||
         name == "aten::linear" || name == "aten::embedding";
}

std::optional<OperatorKey> operator_key(const RawEvent& event) {
  if (event.name == "aten::mm") return matrix_product(event, 0, 0);
  if (event.name == "aten::addmm") return matrix_product(event, 1, 1);
  if (event.name == "aten::bmm") return batched_product(event);
  if (event.name == "aten::linear") return linear(event);
  if (event.name == "aten::embedding") return embedding(event);
  return std::nullopt;
}

std::optional<CostKey> copy_key(std::string_view name, std::int64_t bytes) {
  if (bytes <= 0 || bytes > kLargest) return std::nullopt;
  if (name.starts_with("Memcpy HtoD"))
    return key(Operator::copy_host_to_device, DType::fp32, {bytes});
  if (name.starts_with("Memcpy DtoH"))
    return key(Operator::copy_device_to_host, DType::fp32, {bytes});
  if (name.starts_with("Memset")) return key(Operator::fill_zero, DType::fp32, {bytes});
  return std::nullopt;
}

std::int64_t collective_bytes(const RawEvent& event) {
  const std::int64_t elements = std::max(event.in_elements, event.out_elements);
  const std::int64_t size = size_of(event.element_type);
  return elements > 0 && elements <= kLargest ? elements * size : 0;
}

std::optional<CostKey> collective_key(const RawEvent& event) {
  const Operator op = collective_named(event.collective);
  const auto type = type_of(event.element_type);
  const std::int64_t bytes = collective_bytes(event);
  if (op == Operator::kCount || !type || bytes == 0 || event.group_size <= 0 ||
      event.group_size > kLargest) {
    return std::nullopt;
  }
  return key(op, *type, {bytes, event.group_size});
}

CostKey in_backward(const CostKey& forward, Operator op) {
  CostKey out = forward;
  out.op = op;
  if (op != Operator::matmul) out.dims[3] = 0;
  return out;
}

}  // namespace foreshard::traces::kineto
