// Causal attention with grouped queries, within a window or without, in plain fp32 arithmetic: the kernels of
// heads and types that cuDNN has none for, of windows, and of GPUs without it (attention_backend.hpp).
//
// A block has a tile of queries (or of keys) and goes through the tiles that
// it meets, as FlashAttention-2 does (Dao, 2023, algorithms 1 and 2): scores are never in memory as
// a whole, and tiles of keys that no query sees are left out. How the products are made,
// and what they read of shared memory: attention_tiles.cuh.
//
// Backward computes the gradient of queries and those of keys and values in two kernels, so that every
// sum belongs to one thread: no atomics, and the same bits each time.
#include <stdexcept>
#include <string>

#include "executor/cuda/kernels/attention_tiles.cuh"

namespace foreshard::executor::cuda {
namespace {

// Of which a multiprocessor has registers for. Left to itself, the compiler aims for as many as
// shared memory allows, and spills.
constexpr int kForwardBlocks = 4, kBackwardBlocks = 3;

// One thread's part in the softmax of a row of a tile: each row has neighbouring threads of its
// own.
template <int kHead>
struct SoftmaxRow {
  using S = Tiles<kHead>;
  int row = static_cast<int>(threadIdx.x) / S::kLanes;
  int lane = static_cast<int>(threadIdx.x) % S::kLanes;
  float largest = -INFINITY, total = 0;

  // Makes the row's scores, one for each row of `scores`, e^(score - largest) of all until now, of
  // which [passed, seen) count; returns the factor of all that went before.
  __device__ float add(float* scores, int passed, int seen, float scale) {
    float* const mine = scores + row;
    float most = largest;
    for (int j = lane; j < seen; j += S::kLanes) {
      if (j >= passed) most = fmaxf(most, mine[j * S::kScoreStride] * scale);
    }
    for (int mask = S::kLanes / 2; mask > 0; mask /= 2) {
      most = fmaxf(most, __shfl_xor_sync(~0U, most, mask));
    }
    // fmaxf drops NaNs, which the sums below keep. A row of nothing but -inf has no probabilities.
    const float shift = most == -INFINITY ? 0.0F : most;
    const float before = expf(largest - shift);
    // Keys that are not seen count with 0, so that a NaN among the values shows as it does in
    // PyTorch.
    float sum = 0;
    for (int j = lane; j < S::kRows; j += S::kLanes) {
      float& score = mine[j * S::kScoreStride];
      score = j >= passed && j < seen ? expf(score * scale - shift) : 0.0F;
      sum += score;
    }
    for (int mask = S::kLanes / 2; mask > 0; mask /= 2) sum += __shfl_xor_sync(~0U, sum, mask);
    total = total * before + sum;
    largest = most;
    return before;
  }
};

// The first tile of keys that a tile of queries from `first` on sees.
template <int kHead>
__device__ int first_tile(const AttentionSizes& z, int first) {
  const int passed = first + 1 - z.window;
  return passed > 0 ? passed / Tiles<kHead>::kRows * Tiles<kHead>::kRows : 0;
}

// Multiplies each row of a tile's sums by its factor.
template <int kHead>
__device__ void scale_rows(const float* factors, const OwnSums<kHead>& own, Sums& sums) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float factor = factors[own.row + i];
    float4& row = sums.rows[i];
    row = {row.x * factor, row.y * factor, row.z * factor, row.w * factor};
  }
}

// Blocks: query tiles, the longest first; query heads; the batch.
template <class T, int kHead>
__global__ void __launch_bounds__(kAttentionThreads, kForwardBlocks)
    attention_forward(AttentionSizes z, const T* q, const T* k, const T* v, T* out, float* lse) {
  using S = Tiles<kHead>;
  alignas(16) __shared__ typename S::Tile queries, keys, values;
  alignas(16) __shared__ typename S::Scores scores;  // a row for each key
  __shared__ float factors[S::kRows];
  const int b = static_cast<int>(blockIdx.z), head = static_cast<int>(blockIdx.y);
  const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * S::kRows;
  const int kv_head = head / (z.heads / z.kv_heads);
  const OwnScores<kHead> own_scores;
  const OwnSums<kHead> own;
  SoftmaxRow<kHead> softmax;
  const int position = first + softmax.row;
  Sums sums;
  load_tile<kHead>(z, q, b, first, head, z.heads, queries);
  for (int at = first_tile<kHead>(z, first); at <= first; at += S::kRows) {
    __syncthreads();
    load_tile<kHead>(z, k, b, at, kv_head, z.kv_heads, keys);
    load_tile<kHead>(z, v, b, at, kv_head, z.kv_heads, values);
    __syncthreads();
    float mine[OwnScores<kHead>::kCount];
    multiply_rows(keys, queries, own_scores, mine);
#pragma unroll
    for (int i = 0; i < OwnScores<kHead>::kCount; ++i) {
      const int n = own_scores.number(i);
      if (own_scores.is_first_owner()) {
        scores[own_scores.x_row(n) * S::kScoreStride + own_scores.y_row(n)] = mine[i];
      }
    }
    __syncthreads();
    const int seen = position - at + 1 < S::kRows ? position - at + 1 : S::kRows;
    const float before = softmax.add(scores, position - at + 1 - z.window, seen, z.scale);
    if (softmax.lane == 0) factors[softmax.row] = before;
    __syncthreads();
    scale_rows(factors, own, sums);
    add_weighted_rows(scores, values, own, sums);
  }
  __syncthreads();
  if (softmax.lane == 0) {
    factors[softmax.row] = softmax.total == 0.0F ? 0.0F : 1.0F / softmax.total;
    if (position < z.sequence) {
      lse[z.statistic(b, head, position)] = softmax.largest + logf(softmax.total);
    }
  }
  __syncthreads();
  scale_rows(factors, own, sums);
  store_tile(z, own, sums, b, first, head, z.heads, out);
}

// delta = the sum of dout * out over a row; a warp for each row.
template <class T>
__global__ void attention_delta(AttentionSizes z, const T* dout, const T* out, float* delta) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  const std::int64_t rows = static_cast<std::int64_t>(z.batch) * z.sequence * z.heads;
  if (row >= rows) return;  // of whole warps
  float sum = 0;
  for (int c = static_cast<int>(threadIdx.x % 32); c < z.head_dim; c += 32) {
    sum += to_float(dout[row * z.head_dim + c]) * to_float(out[row * z.head_dim + c]);
  }
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(~0U, sum, mask);
  const auto head = static_cast<int>(row % z.heads);
  const std::int64_t token = row / z.heads;
  const auto b = static_cast<int>(token / z.sequence), s = static_cast<int>(token % z.sequence);
  if (threadIdx.x % 32 == 0) delta[z.statistic(b, head, s)] = sum;
}

// What a query and a key mean for each other.
struct Pair {
  float probability, gradient;  // of the score
};

// From their score and the product of dout and value. Nothing where the query is not there, or the key not
// within its window.
__device__ inline Pair pair_of(const AttentionSizes& z, int b, int head, int query, int key,
                               float score, float product, const float* lse, const float* delta) {
  if (query >= z.sequence) return {0.0F, 0.0F};
  const std::int64_t row = z.statistic(b, head, query);
  const bool sees = key <= query && key > query - z.window && lse[row] != -INFINITY;
  const float p = sees ? expf(score * z.scale - lse[row]) : 0.0F;
  return {p, p * (product - delta[row]) * z.scale};
}

// Blocks as forward's.
template <class T, int kHead>
__global__ void __launch_bounds__(kAttentionThreads, kBackwardBlocks)
    attention_query_gradients(AttentionSizes z, const T* dout, const T* q, const T* k, const T* v,
                              const float* lse, const float* delta, T* dq) {
  using S = Tiles<kHead>;
  alignas(16) __shared__ typename S::Tile queries, douts, keys, values;
  alignas(16) __shared__ typename S::Scores gradients;  // a row for each key
  const int b = static_cast<int>(blockIdx.z), head = static_cast<int>(blockIdx.y);
  const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * S::kRows;
  const int kv_head = head / (z.heads / z.kv_heads);
  const OwnScores<kHead> own_scores;
  const OwnSums<kHead> own;
  Sums sums;
  load_tile<kHead>(z, q, b, first, head, z.heads, queries);
  load_tile<kHead>(z, dout, b, first, head, z.heads, douts);
  for (int at = first_tile<kHead>(z, first); at <= first; at += S::kRows) {
    __syncthreads();
    load_tile<kHead>(z, k, b, at, kv_head, z.kv_heads, keys);
    load_tile<kHead>(z, v, b, at, kv_head, z.kv_heads, values);
    __syncthreads();
    float scores[OwnScores<kHead>::kCount], products[OwnScores<kHead>::kCount];
    multiply_rows(keys, queries, own_scores, scores);
    multiply_rows(values, douts, own_scores, products);
#pragma unroll
    for (int i = 0; i < OwnScores<kHead>::kCount; ++i) {
      const int n = own_scores.number(i), key = own_scores.x_row(n), query = own_scores.y_row(n);
      const Pair pair =
          pair_of(z, b, head, first + query, at + key, scores[i], products[i], lse, delta);
      if (own_scores.is_first_owner()) gradients[key * S::kScoreStride + query] = pair.gradient;
    }
    __syncthreads();
    add_weighted_rows(gradients, keys, own, sums);
  }
  store_tile(z, own, sums, b, first, head, z.heads, dq);
}

// Blocks: key tiles, key/value heads, the batch. The query heads of a group are summed in order.
template <class T, int kHead>
__global__ void __launch_bounds__(kAttentionThreads, kBackwardBlocks)
    attention_key_gradients(AttentionSizes z, const T* dout, const T* q, const T* k, const T* v,
                            const float* lse, const float* delta, T* dk, T* dv) {
  using S = Tiles<kHead>;
  alignas(16) __shared__ typename S::Tile queries, douts, keys, values;
  alignas(16) __shared__ typename S::Scores probabilities, gradients;  // a row for each query
  const int b = static_cast<int>(blockIdx.z), kv_head = static_cast<int>(blockIdx.y);
  const int first = static_cast<int>(blockIdx.x) * S::kRows, group = z.heads / z.kv_heads;
  const OwnScores<kHead> own_scores;
  const OwnSums<kHead> own;
  Sums key_sums, value_sums;
  load_tile<kHead>(z, k, b, first, kv_head, z.kv_heads, keys);
  load_tile<kHead>(z, v, b, first, kv_head, z.kv_heads, values);
  for (int head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    for (int at = first; at < z.sequence && at < first + S::kRows - 1 + z.window; at += S::kRows) {
      __syncthreads();
      load_tile<kHead>(z, q, b, at, head, z.heads, queries);
      load_tile<kHead>(z, dout, b, at, head, z.heads, douts);
      __syncthreads();
      float scores[OwnScores<kHead>::kCount], products[OwnScores<kHead>::kCount];
      multiply_rows(queries, keys, own_scores, scores);
      multiply_rows(douts, values, own_scores, products);
#pragma unroll
      for (int i = 0; i < OwnScores<kHead>::kCount; ++i) {
        const int n = own_scores.number(i), query = own_scores.x_row(n), key = own_scores.y_row(n);
        const Pair pair =
            pair_of(z, b, head, at + query, first + key, scores[i], products[i], lse, delta);
        if (own_scores.is_first_owner()) {
          probabilities[query * S::kScoreStride + key] = pair.probability;
          gradients[query * S::kScoreStride + key] = pair.gradient;
        }
      }
      __syncthreads();
      add_weighted_rows(probabilities, douts, own, value_sums);
      add_weighted_rows(gradients, queries, own, key_sums);
    }
  }
  store_tile(z, own, key_sums, b, first, kv_head, z.kv_heads, dk);
  store_tile(z, own, value_sums, b, first, kv_head, z.kv_heads, dv);
}

AttentionSizes sizes_of(const CudaLaunch& a) {
  const auto [B, S, H, K, d, W] = a.key.dims;
  return {static_cast<int>(B),
          static_cast<int>(S),
          static_cast<int>(H),
          static_cast<int>(K),
          static_cast<int>(d),
          static_cast<int>(std::min(S, attention_window(a.key))),
          1.0F / std::sqrt(static_cast<float>(d))};
}

// Calls with the smallest tiles that hold the heads: (element type, std::integral_constant).
template <class Callable>
void with_head(const CudaLaunch& a, Callable callable) {
  const std::int64_t d = a.key.dims[4];
  with_type(a.key.dtype, [&](auto element) {
    if (d <= 64) return callable(element, std::integral_constant<int, 64>{});
    if (d <= 128) return callable(element, std::integral_constant<int, 128>{});
    if (d <= 256) return callable(element, std::integral_constant<int, 256>{});
    throw std::length_error("attention: head_dim " + std::to_string(d) +
                            " is larger than the largest supported on GPUs, 256");
  });
}

template <int kHead>
dim3 grid(const AttentionSizes& z, int heads) {
  return dim3(static_cast<unsigned>(ceil_divide(z.sequence, Tiles<kHead>::kRows)),
              static_cast<unsigned>(heads), static_cast<unsigned>(z.batch));
}

}  // namespace

void run_attention(const CudaLaunch& a) {
  const AttentionSizes z = sizes_of(a);
  with_head(a, [&](auto element, auto head) {
    using T = decltype(element);
    constexpr int kHead = decltype(head)::value;
    start(a, grid<kHead>(z, z.heads), kAttentionThreads, attention_forward<T, kHead>, z,
          input<T>(a, 0), input<T>(a, 1), input<T>(a, 2), output<T>(a, 0), output<float>(a, 1));
  });
}

void run_attention_backward(const CudaLaunch& a) {
  const AttentionSizes z = sizes_of(a);
  const std::int64_t rows = a.key.dims[0] * a.key.dims[1] * a.key.dims[2];
  with_head(a, [&](auto element, auto head) {
    using T = decltype(element);
    constexpr int kHead = decltype(head)::value;
    const T* const dout = input<T>(a, 0);
    const T* const q = input<T>(a, 1);
    const T* const k = input<T>(a, 2);
    const T* const v = input<T>(a, 3);
    const float* const lse = input<float>(a, 5);
    float* const delta = output<float>(a, 3);
    start(a, cover(32 * rows, kThreads), kThreads, attention_delta<T>, z, dout, input<T>(a, 4),
          delta);
    start(a, grid<kHead>(z, z.heads), kAttentionThreads, attention_query_gradients<T, kHead>, z,
          dout, q, k, v, lse, delta, output<T>(a, 0));
    start(a, grid<kHead>(z, z.kv_heads), kAttentionThreads, attention_key_gradients<T, kHead>, z,
          dout, q, k, v, lse, delta, output<T>(a, 1), output<T>(a, 2));
  });
}

}  // namespace foreshard::executor::cuda
