#include "profiler/rehearsal/program/operator_cost.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "models/base/dtype.hpp"

namespace foreshard::profiler {
namespace {

using Tensors = std::vector<TensorArgument>;

constexpr CostKey kOpaque{Operator::opaque, DType::fp32, DType::fp32, DType::fp32, {}};

CostKey moved(std::int64_t read, std::int64_t written) {
  return {Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {read, written}};
}

DType type_of(const TensorArgument& tensor) {
  if (tensor.type == "bfloat16") return DType::bf16;
  if (tensor.type == "float16") return DType::fp16;
  if (tensor.type == "float64") return DType::fp64;
  return tensor.type.starts_with("float8") ? DType::fp8 : DType::fp32;
}

// The tensors of an argument, one or a list.
std::span<const TensorArgument> tensors(const CapturedOperator& op, std::size_t number) {
  if (number >= op.arguments.size()) return {};
  const Argument& argument = op.arguments[number];
  if (const auto* const one = std::get_if<TensorArgument>(&argument)) return {one, 1};
  if (const auto* const list = std::get_if<Tensors>(&argument)) return *list;
  return {};
}

std::optional<std::int64_t> integer(const CapturedOperator& op, std::size_t number) {
  if (number >= op.arguments.size()) return {};
  const auto* const value = std::get_if<std::int64_t>(&op.arguments[number]);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::int64_t elements(std::span<const TensorArgument> all) {
  std::int64_t sum = 0;
  for (const TensorArgument& tensor : all) sum += tensor.elements;
  return sum;
}

std::int64_t bytes(std::span<const TensorArgument> all) {
  std::int64_t sum = 0;
  for (const TensorArgument& tensor : all) sum += tensor.bytes();
  return sum;
}

// (gradients, dimension, chunks, result): FSDP2's, into chunks for a reduce-scatter.
CostKey chunk_cat(const CapturedOperator& op, std::int64_t allocated) {
  const auto from = tensors(op, 0), to = tensors(op, 3);
  const std::int64_t chunks = integer(op, 2).value_or(0);
  if (from.empty() || chunks <= 0) return kOpaque;
  const DType type = to.empty() ? type_of(from[0]) : type_of(to[0]);
  const std::int64_t all = to.empty() ? allocated / item_size(type) : elements(to);
  return {Operator::reduce_scatter_copy_in, type, type_of(from[0]), type, {all / chunks, chunks}};
}

// (parameters, gradients, moments ...)
CostKey fused_optimizer(const CapturedOperator& op, Operator kind) {
  const auto parameters = tensors(op, 0), gradients = tensors(op, 1), moments = tensors(op, 2);
  if (parameters.empty() || gradients.empty()) return kOpaque;
  const DType type = type_of(parameters[0]);
  return {kind, type, type_of(gradients[0]), moments.empty() ? type : type_of(moments[0]),
          {elements(parameters)}};
}

bool ends_in_place(std::string_view name) {
  return name.ends_with('_') && !name.ends_with("__");
}

// Reads its arguments once and writes its result once.
CostKey streamed(const CapturedOperator& op, std::int64_t allocated) {
  std::int64_t read = 0;
  for (std::size_t n = 0; n < op.arguments.size(); ++n) read += bytes(tensors(op, n));
  if (!ends_in_place(op.name)) return moved(read, allocated);
  const std::int64_t own = bytes(tensors(op, 0));
  const bool overwrites = op.name.ends_with("copy_") || op.name.ends_with("zero_") ||
                          op.name.ends_with("fill_") || op.name.ends_with("normal_") ||
                          op.name.ends_with("uniform_");
  return moved(overwrites ? read - own : read, own);
}

// Kernels whose time follows from the bytes that they touch.
bool is_streaming(std::string_view kernel) {
  static constexpr std::array<std::string_view, 6> kNot{"sort", "Sort", "radix", "scan", "topk",
                                                        "cutlass"};
  const auto contains = [&](std::string_view part) {
    return kernel.find(part) != std::string_view::npos;
  };
  if (std::ranges::any_of(kNot, contains)) return false;
  return contains("at::native") || contains("_ZN2at6native") || kernel.starts_with("triton_") ||
         contains("c10d::") || contains("_ZN4c10d");
}

}  // namespace

CostKey cost_of(const CapturedOperator& op, std::string_view kernel, std::int64_t allocated) {
  if (op.name.ends_with("chunk_cat")) return chunk_cat(op, allocated);
  if (op.name.find("_fused_adam") != std::string::npos) return fused_optimizer(op, Operator::adamw);
  if (op.name.find("_fused_sgd") != std::string::npos) return fused_optimizer(op, Operator::sgd);
  if (!is_streaming(kernel)) return kOpaque;
  const CostKey key = streamed(op, allocated);
  return key.dims[0] + key.dims[1] > 0 ? key : kOpaque;
}

}  // namespace foreshard::profiler
