#include "profiler/rehearsal/program/operator_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
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
  return {kind,
          type,
          type_of(gradients[0]),
          moments.empty() ? type : type_of(moments[0]),
          {elements(parameters)}};
}

// Into a list of another type: FSDP2's, of shards for an all-gather.
CostKey list_copy(const CapturedOperator& op) {
  const auto to = tensors(op, 0), from = tensors(op, 1);
  if (to.empty() || from.empty() || type_of(to[0]) == type_of(from[0])) {
    return moved(bytes(from), bytes(to));
  }
  const DType type = type_of(to[0]);
  return {Operator::shard_cast, type, type_of(from[0]), type, {elements(to)}};
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

// (name, gradient, parameter, moments ...): bitsandbytes' optimizers write all but the gradient.
CostKey updated(const CapturedOperator& op) {
  const std::int64_t all = streamed(op, 0).dims[0];
  return moved(all, all - bytes(tensors(op, 1)));
}

// Whether later tokens are hidden: a boolean, which in cuDNN's forward stands behind another one, and for
// the memory-efficient kernels a kind of mask, the last integer.
bool is_causal(const CapturedOperator& op, bool is_backward) {
  std::vector<bool> flags;
  std::int64_t mask = 0;
  for (const Argument& argument : op.arguments) {
    if (const auto* const flag = std::get_if<bool>(&argument)) flags.push_back(*flag);
    if (const auto* const number = std::get_if<std::int64_t>(&argument)) mask = *number;
  }
  if (op.name.starts_with("aten::_efficient_attention")) return mask == 1 || mask == 2;
  const bool is_second = !is_backward && !op.name.starts_with("aten::_flash_attention");
  const std::size_t at = is_second ? 1 : 0;
  return flags.size() > at && flags[at];
}

// Queries, keys and values, [B, H, S, d] of cuDNN and [B, S, H, d] of the others, stand behind the gradient
// of the result in backward.
CostKey attention(const CapturedOperator& op) {
  const bool is_backward = op.name.ends_with("backward");
  const auto q = tensors(op, is_backward ? 1 : 0), k = tensors(op, is_backward ? 2 : 1);
  if (q.empty() || k.empty() || q[0].sizes.size() != 4 || k[0].sizes.size() != 4) return kOpaque;
  const bool has_heads_first = !op.name.starts_with("aten::_flash_attention") &&
                               !op.name.starts_with("aten::_efficient_attention");
  const std::size_t head = has_heads_first ? 1 : 2, token = has_heads_first ? 2 : 1;
  const Operator kind =
      is_causal(op, is_backward)
          ? (is_backward ? Operator::attention_backward : Operator::attention)
          : (is_backward ? Operator::attention_full_backward : Operator::attention_full);
  const DType type = type_of(q[0]);
  // Where queries attend to another sequence, as many operations as in a square.
  const std::int64_t queries = q[0].sizes[token], keys = k[0].sizes[token];
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
  if (std::min(queries, keys) < 1 || std::max(queries, keys) > kMostTokens) return kOpaque;
  const std::int64_t square =
      std::llround(std::sqrt(static_cast<double>(queries) * static_cast<double>(keys)));
  return {kind,
          type,
          type,
          type,
          {q[0].sizes[0], square, q[0].sizes[head], k[0].sizes[head], q[0].sizes[3]}};
}

// As a product: an output element for each filter and place. `allocated`: of the output, or of both
// gradients.
CostKey convolution(const CapturedOperator& op, std::int64_t allocated) {
  const bool is_backward = op.name.ends_with("backward");
  const auto x = tensors(op, is_backward ? 1 : 0), filters = tensors(op, is_backward ? 2 : 1);
  if (x.empty() || filters.empty() || filters[0].sizes.size() < 3) return kOpaque;
  const std::int64_t outputs = filters[0].sizes[0];
  const std::int64_t depth = filters[0].elements / std::max<std::int64_t>(outputs, 1);
  const auto gradient = tensors(op, 0);
  const DType type = type_of(x[0]);
  const std::int64_t results =
      is_backward && !gradient.empty() ? gradient[0].elements : allocated / item_size(type);
  if (outputs <= 0 || results <= 0) return kOpaque;
  // Backward is such a product for each of the gradients.
  return {Operator::matmul,
          type,
          type,
          type,
          {results / outputs, outputs, (is_backward ? 2 : 1) * depth}};
}

// (tokens [T, K], weights [G, K, N]): T tokens, shared out among G products.
CostKey grouped_product(const CapturedOperator& op) {
  const auto a = tensors(op, 0), b = tensors(op, 1);
  if (a.empty() || b.empty() || a[0].sizes.size() < 2 || b[0].sizes.size() < 2) return kOpaque;
  const DType type = type_of(a[0]);
  const std::vector<std::int64_t>&left = a[0].sizes, &right = b[0].sizes;
  if (right.size() == 3 && left.size() == 2) {
    const std::int64_t groups = std::max<std::int64_t>(right[0], 1);
    return {Operator::batched_matmul,
            type,
            type,
            type,
            {groups, (left[0] + groups - 1) / groups, right[2], left[1]}};
  }
  // Gradients of the weights: [K, T] and [T, N].
  return {Operator::matmul, type, type, type, {left[left.size() - 2], right.back(), left.back()}};
}

CostKey product(const CapturedOperator& op, const std::array<std::int64_t, 4>& size) {
  const auto [m, n, k, count] = size;
  DType type = DType::fp32;
  for (std::size_t a = 0; a < op.arguments.size(); ++a) {
    for (const TensorArgument& tensor : tensors(op, a)) {
      if (const DType of = type_of(tensor); item_size(of) < item_size(type)) type = of;
    }
  }
  if (count > 1) return {Operator::batched_matmul, type, type, type, {count, m, n, k}};
  return {Operator::matmul, type, type, type, {m, n, k}};
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

// Operators whose every kernel passes over the data once more, as each digit of a radix sort does.
bool passes_again(std::string_view name) {
  return contains_any(name, {"sort", "topk", "unique", "index_put", "kthvalue", "mode"});
}

bool is_of_pytorch(std::string_view kernel) {
  return contains_any(kernel, {"at::native", "at::cuda", "_ZN2at", "c10d::", "_ZN4c10d",
                               "cub::", "3cub", "indexing_backward", "triton_"});
}

}  // namespace

bool is_timed_by_arguments(std::string_view kernel) {
  return !is_of_pytorch(kernel) && !kernel.starts_with("_Z") &&
         !contains_any(kernel, {"::", "<", "matrix_product", "cudnn"});
}

CostKey cost_of(const CapturedOperator& op, const Launched& launched) {
  const std::string_view name = op.name;
  if (launched.first.kind == DeviceCall::Kind::product) return product(op, launched.first.product);
  if (name.ends_with("chunk_cat")) return chunk_cat(op, launched.allocated);
  if (name == "aten::_foreach_copy_") return list_copy(op);
  if (contains_any(name, {"_fused_adam"})) return fused_optimizer(op, Operator::adamw);
  if (contains_any(name, {"_fused_sgd"})) return fused_optimizer(op, Operator::sgd);
  if (name.starts_with("aten::")) {
    if (contains_any(name, {"_attention"})) return attention(op);
    if (contains_any(name, {"convolution"})) return convolution(op, launched.allocated);
    if (contains_any(name, {"_grouped_mm"})) return grouped_product(op);
  }
  if (name.starts_with("bitsandbytes::optimizer_update")) return updated(op);
  if (name.starts_with("bitsandbytes::") && contains_any(name, {"quant"})) {
    return streamed(op, launched.allocated);
  }
  if (!is_of_pytorch(launched.kernel) && !is_timed_by_arguments(launched.kernel)) return kOpaque;
  CostKey key = streamed(op, launched.allocated);
  if (passes_again(name)) {
    key.dims[0] *= launched.launches;
    key.dims[1] *= launched.launches;
  }
  return key.dims[0] + key.dims[1] > 0 ? key : kOpaque;
}

}  // namespace foreshard::profiler
