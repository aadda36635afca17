// What the engines of cuDNN's attention take of memory beside its operands: formulas of what cuDNN 9.19 answers for each
// architecture (tests/models/program/cudnn_workspaces.csv), in bytes.
//
// Backward takes sums for each row of the scores as well, and, unless it is deterministic, a gradient of the
// queries in fp32: these are not the engine's but of whoever describes the graph to it.
#pragma once

#include <cstdint>

namespace foreshard {

// Elements of two bytes; as many keys as queries.
struct CudnnAttention {
  std::int64_t batch = 0, tokens = 0, heads = 0, kv_heads = 0, head_size = 0;
};

inline constexpr int kHopperFamily = 9, kDatacenterBlackwellFamily = 10;  // of compute capabilities

inline std::int64_t cudnn_forward_engine_bytes(int compute_capability) {
  return compute_capability / 10 == kHopperFamily ? 256 : 0;
}

// Each buffer begins at a multiple of 128 B.
inline std::int64_t cudnn_backward_engine_bytes(const CudnnAttention& attention,
                                                int compute_capability, bool is_deterministic) {
  const auto [B, S, H, K, d] = attention;
  const int family = compute_capability / 10;
  const auto rounded = [](std::int64_t number, std::int64_t step) {
    return (number + step - 1) / step * step;
  };
  // The gradients of keys and values in bf16, one for each query head, where heads share them.
  const std::int64_t of_query_heads = K < H ? 2 * rounded(2 * B * S * H * d, 128) : 0;
  if (family == kDatacenterBlackwellFamily && is_deterministic) {
    return K < H ? 2 * of_query_heads + 128 : 0;
  }
  if (is_deterministic) {
    const std::int64_t columns = rounded(S, family == kHopperFamily ? 128 : 64);
    return 2 * B * H * rounded(S, 64) * columns + of_query_heads +
           (family == kHopperFamily ? 256 : 128);
  }
  if (family == kHopperFamily) return of_query_heads + 256;
  if (family == kDatacenterBlackwellFamily && S > 128) return K < H ? of_query_heads + 128 : 0;
  return 4 * B * rounded(S, 8) * H * d + of_query_heads + 128;
}

}  // namespace foreshard
