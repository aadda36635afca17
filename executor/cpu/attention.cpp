// Causal attention with grouped queries, within a window or without; the arithmetic is in simd/attention*.inl.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "executor/cpu/operands.hpp"

namespace foreshard::executor {
namespace {

AttentionOperands sizes(const KernelArguments& a) {
  const auto [B, S, H, K, d, W] = a.key.dims;
  if (d > kLongestHead) {
    throw std::length_error("attention: head_dim " + std::to_string(d) +
                            " is larger than the largest supported, " +
                            std::to_string(kLongestHead));
  }
  return {.batch = B,
          .sequence = S,
          .heads = H,
          .kv_heads = K,
          .head_dim = d,
          .window = std::min(S, attention_window(a.key))};
}

// Whether two passes of small tasks, with seven products instead of five, are done before the busiest
// of the threads has done its key/value heads in one.
bool splits_backward(std::int64_t key_heads, std::int64_t threads) {
  return 5 * ceil_divide(key_heads, threads) * threads > 7 * key_heads;
}

}  // namespace

void run_attention(const KernelArguments& a) {
  AttentionOperands o = sizes(a);
  o.q = input(a, 0), o.k = input(a, 1), o.v = input(a, 2);
  o.out = output(a, 0);
  o.lse = output<float>(a, 1);
  const SimdKernels& simd = simd_kernels();
  const std::int64_t tiles = ceil_divide(o.sequence, attention_tile(o.head_dim));
  // Later tiles see more keys: they go first, so that threads end together.
  a.workers.run(o.batch * o.heads * tiles, [&](std::int64_t task, int) {
    const std::int64_t head = task % (o.batch * o.heads);
    simd.attention[variant(a.key.dtype)](o, head / o.heads, head % o.heads,
                                         tiles - 1 - task / (o.batch * o.heads));
  });
}

void run_attention_backward(const KernelArguments& a) {
  AttentionOperands o = sizes(a);
  o.dout = input(a, 0), o.q = input(a, 1), o.k = input(a, 2), o.v = input(a, 3);
  o.out = const_cast<std::byte*>(input(a, 4));
  o.lse = const_cast<float*>(input<float>(a, 5));
  o.dq = output(a, 0), o.dk = output(a, 1), o.dv = output(a, 2);
  o.delta = output<float>(a, 3);
  const std::int64_t keys = o.batch * o.sequence * o.kv_heads * o.head_dim;
  float* const sums = o.delta + o.batch * o.heads * o.sequence;
  const bool in_place = a.key.dtype == DType::fp32;
  o.dk_sum = in_place ? static_cast<float*>(o.dk) : sums;
  o.dv_sum = in_place ? static_cast<float*>(o.dv) : sums + keys;
  const SimdKernels& simd = simd_kernels();
  const std::size_t type = variant(a.key.dtype);
  const std::int64_t key_heads = o.batch * o.kv_heads, query_heads = o.batch * o.heads;
  if (!splits_backward(key_heads, a.workers.threads())) {
    return a.workers.run(key_heads, [&](std::int64_t task, int) {
      simd.attention_backward[type](o, task / o.kv_heads, task % o.kv_heads);
    });
  }
  // The largest tasks first: later queries see more keys, earlier keys are seen by more queries.
  const std::int64_t tiles = ceil_divide(o.sequence, attention_tile(o.head_dim));
  a.workers.run(query_heads * tiles, [&](std::int64_t task, int) {
    const std::int64_t head = task % query_heads;
    simd.attention_query_gradients[type](o, head / o.heads, head % o.heads,
                                         tiles - 1 - task / query_heads);
  });
  a.workers.run(key_heads * tiles, [&](std::int64_t task, int) {
    const std::int64_t head = task % key_heads;
    simd.attention_key_gradients[type](o, head / o.kv_heads, head % o.kv_heads, task / key_heads);
  });
}

}  // namespace foreshard::executor
