#include "models/program/operators.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "models/program/attention_workspace.hpp"

namespace foreshard {
namespace {

constexpr std::string_view kNames[] = {"embedding",
                                       "embedding_backward",
                                       "rms_norm",
                                       "rms_norm_backward",
                                       "matmul",
                                       "matmul_input_gradient",
                                       "matmul_weight_gradient",
                                       "bias_gradient",
                                       "rope",
                                       "rope_backward",
                                       "attention",
                                       "attention_backward",
                                       "swiglu",
                                       "swiglu_backward",
                                       "add",
                                       "cross_entropy",
                                       "cross_entropy_backward",
                                       "cast",
                                       "fill_zero",
                                       "rope_table",
                                       "shard_cast",
                                       "all_gather_copy_in",
                                       "all_gather_copy_out",
                                       "copy_slice",
                                       "reduce_scatter_copy_in",
                                       "transpose",
                                       "gradient_norm",
                                       "clip_coefficient",
                                       "adamw",
                                       "sgd",
                                       "initialize_shards",
                                       "restore_states",
                                       "export_gradients",
                                       "load_batch",
                                       "report",
                                       "copy_host_to_device",
                                       "copy_device_to_host",
                                       "all_gather",
                                       "reduce_scatter",
                                       "all_reduce",
                                       "attention_full",
                                       "attention_full_backward",
                                       "batched_matmul",
                                       "copy_device_to_device",
                                       "memory_bound",
                                       "opaque",
                                       "all_to_all",
                                       "broadcast",
                                       "transfer"};
static_assert(std::size(kNames) == static_cast<std::size_t>(Operator::kCount));

// Scores attention has to compute: all.
double all_scores(const CostKey& key) {
  const auto [b, s, h, k, d, w] = key.dims;
  return static_cast<double>(b * h) * static_cast<double>(s) * static_cast<double>(s);
}

// Those from the diagonal back to the window's end: 1 of the first token, 2 of the second, W from the W-th on.
double causal_scores(const CostKey& key) {
  const std::int64_t heads = key.dims[0] * key.dims[2], window = attention_window(key);
  return static_cast<double>(heads) * static_cast<double>(window) *
         (static_cast<double>(2 * key.dims[1] - window + 1) / 2);
}

}  // namespace

std::string_view name(Operator op) {
  return kNames[static_cast<std::size_t>(op)];
}

Operator operator_named(std::string_view text) {
  std::size_t i = 0;
  while (i < std::size(kNames) && kNames[i] != text) ++i;
  return static_cast<Operator>(i);
}

std::size_t CostKeyHash::operator()(const CostKey& key) const {
  std::uint64_t hash =
      static_cast<std::uint64_t>(key.op) | static_cast<std::uint64_t>(key.dtype) << 8 |
      static_cast<std::uint64_t>(key.dtype2) << 16 | static_cast<std::uint64_t>(key.dtype3) << 24;
  for (const std::int64_t dim : key.dims) {
    hash = (hash ^ static_cast<std::uint64_t>(dim)) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  }
  return hash;
}

std::string text(const CostKey& key) {
  std::string out(name(key.op));
  out += ' ';
  out += name(key.dtype);
  if (key.dtype2 != key.dtype || key.dtype3 != key.dtype) {
    out += ',';
    out += name(key.dtype2);
  }
  if (key.dtype3 != key.dtype) {
    out += ',';
    out += name(key.dtype3);
  }
  std::size_t dims = key.dims.size();
  while (dims > 1 && key.dims[dims - 1] == 0) --dims;
  for (std::size_t i = 0; i < dims; ++i) out += ' ' + std::to_string(key.dims[i]);
  return out;
}

bool parse_cost_key(std::string_view text, CostKey& key) {
  const auto next_word = [&text](char separator) {
    const std::size_t end = text.find(separator);
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return word;
  };
  CostKey parsed;
  parsed.op = operator_named(next_word(' '));
  if (parsed.op == Operator::kCount) return false;
  std::string_view types = next_word(' ');
  DType* slots[] = {&parsed.dtype, &parsed.dtype2, &parsed.dtype3};
  std::size_t count = 0;
  for (; count < 3 && !types.empty(); ++count) {
    const std::size_t comma = types.find(',');
    const std::optional<DType> type = dtype_named(types.substr(0, comma));
    if (!type) return false;
    *slots[count] = *type;
    types.remove_prefix(comma == std::string_view::npos ? types.size() : comma + 1);
  }
  if (count == 0 || !types.empty()) return false;
  for (; count < 3; ++count) *slots[count] = parsed.dtype;
  std::size_t dims = 0;
  while (!text.empty()) {
    const std::string_view word = next_word(' ');
    if (dims == parsed.dims.size()) return false;
    const auto result = std::from_chars(word.data(), word.data() + word.size(), parsed.dims[dims]);
    if (result.ec != std::errc() || result.ptr != word.data() + word.size()) return false;
    ++dims;
  }
  key = parsed;
  return true;
}

bool is_collective(Operator op) {
  switch (op) {
    case Operator::all_gather:
    case Operator::reduce_scatter:
    case Operator::all_reduce:
    case Operator::all_to_all:
    case Operator::broadcast:
    case Operator::transfer: return true;
    default: return false;
  }
}

bool is_matmul(Operator op) {
  return op == Operator::matmul || op == Operator::matmul_input_gradient ||
         op == Operator::matmul_weight_gradient || op == Operator::batched_matmul;
}

bool is_attention(Operator op) {
  return op == Operator::attention || op == Operator::attention_backward ||
         op == Operator::attention_full || op == Operator::attention_full_backward;
}

std::int64_t attention_window(const CostKey& key) {
  return key.dims[5] == 0 ? key.dims[1] : key.dims[5];
}

double flops(const CostKey& key) {
  const auto d = [&key](std::size_t i) { return static_cast<double>(key.dims[i]); };
  switch (key.op) {
    case Operator::matmul:
    case Operator::matmul_input_gradient:
    case Operator::matmul_weight_gradient: return 2 * d(0) * d(1) * d(2);
    // Two products of the scores forward (q k^T and p v); backward recomputes the first and has four
    // more.
    case Operator::attention: return 4 * causal_scores(key) * d(4);
    case Operator::attention_backward: return 10 * causal_scores(key) * d(4);
    case Operator::attention_full: return 4 * all_scores(key) * d(4);
    case Operator::attention_full_backward: return 10 * all_scores(key) * d(4);
    case Operator::batched_matmul: return 2 * d(0) * d(1) * d(2) * d(3);
    case Operator::rms_norm: return 4 * d(0) * d(1);
    case Operator::rms_norm_backward: return 10 * d(0) * d(1);
    case Operator::rope:
    case Operator::rope_backward: return 3 * d(0) * d(1) * d(2) * d(3);
    case Operator::swiglu: return 6 * d(0) * d(1);
    case Operator::swiglu_backward: return 12 * d(0) * d(1);
    case Operator::cross_entropy: return 4 * d(0) * d(1);
    case Operator::cross_entropy_backward: return 4 * d(0) * d(1);
    case Operator::bias_gradient: return d(0) * d(1);
    case Operator::embedding_backward: return d(0) * d(2);
    case Operator::gradient_norm: return 2 * d(0);
    case Operator::adamw: return 14 * d(0);
    case Operator::sgd: return 4 * d(0);
    case Operator::add: return d(0);
    case Operator::reduce_scatter:
    case Operator::all_reduce: return d(0) / static_cast<double>(item_size(key.dtype));
    default: return 0;
  }
}

double bytes_moved(const CostKey& key) {
  const auto d = [&key](std::size_t i) { return static_cast<double>(key.dims[i]); };
  const double e = static_cast<double>(item_size(key.dtype));
  const double e2 = static_cast<double>(item_size(key.dtype2));
  const double e3 = static_cast<double>(item_size(key.dtype3));
  switch (key.op) {
    case Operator::embedding: return 2 * e * d(0) * d(2) + 4 * d(0);
    case Operator::embedding_backward: return e * (d(0) * d(2) + d(1) * d(2)) + 4 * d(0);
    case Operator::rms_norm: return 2 * e * d(0) * d(1) + 4 * d(0);
    case Operator::rms_norm_backward: return (3 + d(2)) * e * d(0) * d(1) + 4 * d(0);
    case Operator::matmul: return e * (d(0) * d(2) + d(1) * d(2)) + e2 * d(0) * d(1);
    case Operator::matmul_weight_gradient: return e * (d(0) * d(2) + d(1) * d(2) + d(0) * d(1));
    case Operator::batched_matmul:
      return e * d(0) * (d(1) * d(3) + d(2) * d(3) + (1 + d(4)) * d(1) * d(2));
    case Operator::matmul_input_gradient:
      return e * (d(0) * d(2) + d(1) * d(2) + (1 + d(3)) * d(0) * d(1));
    case Operator::bias_gradient: return e * d(0) * d(1);
    case Operator::rope:
    case Operator::rope_backward: return 2 * e * d(0) * d(1) * d(2) * d(3);
    case Operator::attention:
    case Operator::attention_full: return e * d(0) * d(1) * (2 * d(2) + 2 * d(3)) * d(4);
    case Operator::attention_backward:
    case Operator::attention_full_backward: return e * d(0) * d(1) * (4 * d(2) + 4 * d(3)) * d(4);
    case Operator::swiglu: return 3 * e * d(0) * d(1);
    case Operator::swiglu_backward: return 5 * e * d(0) * d(1);
    case Operator::add: return (2 * e + e2) * d(0);
    case Operator::cross_entropy: return e * d(0) * d(1);
    case Operator::cross_entropy_backward: return 2 * e * d(0) * d(1);
    case Operator::cast: return (e + e2) * d(0);
    case Operator::fill_zero: return d(0);
    case Operator::rope_table: return 4 * d(0) * d(1);
    case Operator::shard_cast: return (e + e2) * d(0);
    case Operator::all_gather_copy_in: return 2 * e * d(0);
    case Operator::all_gather_copy_out: return 2 * e * d(0) * d(1);
    case Operator::copy_slice: return 2 * e * d(0);
    case Operator::reduce_scatter_copy_in: return (e + e2) * d(0) * d(1);
    case Operator::transpose: return 2 * e * d(0) * d(1) * d(2);
    case Operator::gradient_norm: return e * d(0);
    case Operator::adamw: return (2 * e + e2 + 4 * e3) * d(0);
    case Operator::sgd: return (2 * e + e2) * d(0);
    case Operator::initialize_shards:
    case Operator::restore_states:
    case Operator::export_gradients: return e * d(0);
    case Operator::load_batch: return 8 * d(0);
    case Operator::clip_coefficient:
    case Operator::report: return 8 * d(0);
    case Operator::memory_bound: return d(0) + d(1);
    case Operator::copy_host_to_device:
    case Operator::copy_device_to_host:
    case Operator::copy_device_to_device: return 2 * d(0);
    case Operator::all_gather:
    case Operator::reduce_scatter:
    case Operator::all_to_all:
    case Operator::broadcast:
    case Operator::transfer: return 2 * d(0);
    case Operator::all_reduce: return 4 * d(0);
    case Operator::opaque:
    case Operator::kCount: break;
  }
  return 0;
}

std::int64_t norm_partials(const DeviceTraits& device) {
  constexpr std::int64_t kOnCpu = 16;
  return std::max<std::int64_t>(kOnCpu, device.multiprocessors);
}

Bytes scratch_bytes(const CostKey& key, const DeviceTraits& device) {
  const auto& d = key.dims;
  switch (key.op) {
    case Operator::embedding_backward: return {round_up(8 * d[0] + 4 * d[2], 64)};
    case Operator::rms_norm_backward: return {norm_partials(device) * d[1] * 4};
    case Operator::attention_backward: return attention_backward_scratch(key, device);
    default: return {0};
  }
}

}  // namespace foreshard
