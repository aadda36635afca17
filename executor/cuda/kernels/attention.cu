// Causal attention with grouped queries: cuDNN's where it is there and made for the heads, else plain fp32
// arithmetic.
//
// Of the plain kernels: a block has a tile of queries (or of keys) and goes through the tiles that it meets, as
// FlashAttention-2 does (Dao, 2023, algorithms 1 and 2): scores are never in memory as a whole. Tiles
// are of 2048 elements for any head size, so that four of them fit into static shared memory; each of a
// block's 128 threads owns sixteen columns of one row of what it sums up.
//
// Backward computes the gradient of queries and those of keys and values in two kernels, so that every
// sum belongs to one thread: no atomics, and the same bits each time.
#include <stdexcept>
#include <string>

#include "executor/cuda/cudnn/fused_attention.hpp"
#include "executor/cuda/kernels/launch.cuh"

namespace foreshard::executor::cuda {
namespace {

constexpr int kBlock = 128;

// Of the tiles for heads of up to `kHead` elements.
template <int kHead>
struct Tiles {
  static constexpr int kRows = 2048 / kHead;
  static constexpr int kLanes = kBlock / kRows;  // threads of a row
  static constexpr int kOwn = kHead / kLanes;    // columns of each, kLanes apart
  static constexpr int kStride = kHead + 1;      // so that rows begin in different banks
  using Tile = float[kRows * kStride];
  using Scores = float[kRows * kRows];
};

struct AttentionSizes {
  int batch, sequence, heads, kv_heads, head_dim;
  float scale;

  __host__ __device__ std::int64_t row(int b, int s, int h, int of_heads) const {
    return ((static_cast<std::int64_t>(b) * sequence + s) * of_heads + h) * head_dim;
  }
  __host__ __device__ std::int64_t statistic(int b, int h, int s) const {
    return (static_cast<std::int64_t>(b) * heads + h) * sequence + s;
  }
};

// A tile's rows from `first` on, of one head; zeros beyond the sequence and the head.
template <int kHead, class T>
__device__ void load_tile(const AttentionSizes& z, const T* from, int b, int first, int head,
                          int of_heads, float* tile) {
  using S = Tiles<kHead>;
  for (int i = static_cast<int>(threadIdx.x); i < S::kRows * kHead; i += kBlock) {
    const int r = i / kHead, c = i % kHead;
    const bool is_there = first + r < z.sequence && c < z.head_dim;
    tile[r * S::kStride + c] =
        is_there ? to_float(from[z.row(b, first + r, head, of_heads) + c]) : 0.0F;
  }
}

// scores[i][j] = the product of row i of x with row j of y.
template <int kHead>
__device__ void multiply_rows(const float* x, const float* y, float* scores) {
  using S = Tiles<kHead>;
  for (int i = static_cast<int>(threadIdx.x); i < S::kRows * S::kRows; i += kBlock) {
    const float* a = x + i / S::kRows * S::kStride;
    const float* b = y + i % S::kRows * S::kStride;
    float sum = 0;
    for (int c = 0; c < kHead; ++c) sum += a[c] * b[c];
    scores[i] = sum;
  }
}

// Which row and columns of a sum a thread owns.
template <int kHead>
struct Own {
  int row = static_cast<int>(threadIdx.x) / Tiles<kHead>::kLanes;
  int lane = static_cast<int>(threadIdx.x) % Tiles<kHead>::kLanes;

  __device__ int column(int i) const { return lane + i * Tiles<kHead>::kLanes; }
};

template <int kHead, class T>
__device__ void store_row(const AttentionSizes& z, const Own<kHead>& own, const float* sums, int b,
                          int position, int head, int of_heads, T* to) {
  if (position >= z.sequence) return;
  T* const row = to + z.row(b, position, head, of_heads);
  for (int i = 0; i < Tiles<kHead>::kOwn; ++i) {
    if (own.column(i) < z.head_dim) row[own.column(i)] = from_float<T>(sums[i]);
  }
}

// Blocks: query tiles, the longest first; query heads; the batch.
template <class T, int kHead>
__global__ void __launch_bounds__(kBlock)
    attention_forward(AttentionSizes z, const T* q, const T* k, const T* v, T* out, float* lse) {
  using S = Tiles<kHead>;
  __shared__ typename S::Tile queries, keys, values;
  __shared__ typename S::Scores scores;
  const int b = static_cast<int>(blockIdx.z), head = static_cast<int>(blockIdx.y);
  const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * S::kRows;
  const int kv_head = head / (z.heads / z.kv_heads);
  const Own<kHead> own;
  const int position = first + own.row;
  float sums[S::kOwn] = {};
  float largest = -INFINITY, total = 0;
  load_tile<kHead>(z, q, b, first, head, z.heads, queries);
  for (int at = 0; at <= first; at += S::kRows) {
    __syncthreads();
    load_tile<kHead>(z, k, b, at, kv_head, z.kv_heads, keys);
    load_tile<kHead>(z, v, b, at, kv_head, z.kv_heads, values);
    __syncthreads();
    multiply_rows<kHead>(queries, keys, scores);
    __syncthreads();
    // The first key of a tile is never later than its first query, so there is one to compare with.
    const int seen = position - at + 1 < S::kRows ? position - at + 1 : S::kRows;
    float most = largest;
    for (int j = 0; j < seen; ++j) most = fmaxf(most, scores[own.row * S::kRows + j] * z.scale);
    // fmaxf drops NaNs, which the sums below keep. A row of nothing but -inf has no probabilities.
    const float shift = most == -INFINITY ? 0.0F : most;
    const float before = expf(largest - shift);
    total *= before;
    for (float& sum : sums) sum *= before;
    // Keys that are not seen count with 0, so that a NaN among the values shows as it does in PyTorch.
    for (int j = 0; j < S::kRows; ++j) {
      const float p = j < seen ? expf(scores[own.row * S::kRows + j] * z.scale - shift) : 0.0F;
      total += p;
      for (int i = 0; i < S::kOwn; ++i) sums[i] += p * values[j * S::kStride + own.column(i)];
    }
    largest = most;
  }
  for (float& sum : sums) sum = total == 0.0F ? 0.0F : sum / total;
  store_row(z, own, sums, b, position, head, z.heads, out);
  if (own.lane == 0 && position < z.sequence) {
    lse[z.statistic(b, head, position)] = largest + logf(total);
  }
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

// What a query and a key of two tiles mean for each other: scores become probabilities, and the
// products of dout and values become the gradients of the scores. Nothing where the query is not there
// or comes before the key.
template <int kHead>
__device__ void probabilities_and_gradients(const AttentionSizes& z, int b, int head,
                                            int queries_at, int keys_at, const float* lse,
                                            const float* delta, float* scores, float* gradients) {
  using S = Tiles<kHead>;
  for (int i = static_cast<int>(threadIdx.x); i < S::kRows * S::kRows; i += kBlock) {
    const int query = queries_at + i / S::kRows, key = keys_at + i % S::kRows;
    const bool is_there = query < z.sequence;
    const std::int64_t row = z.statistic(b, head, is_there ? query : 0);
    const bool sees = is_there && key <= query && lse[row] != -INFINITY;
    const float p = sees ? expf(scores[i] * z.scale - lse[row]) : 0.0F;
    scores[i] = p;
    gradients[i] = is_there ? p * (gradients[i] - delta[row]) * z.scale : 0.0F;
  }
}

// Blocks as forward's.
template <class T, int kHead>
__global__ void __launch_bounds__(kBlock)
    attention_query_gradients(AttentionSizes z, const T* dout, const T* q, const T* k, const T* v,
                              const float* lse, const float* delta, T* dq) {
  using S = Tiles<kHead>;
  __shared__ typename S::Tile queries, douts, keys, values;
  __shared__ typename S::Scores scores, gradients;
  const int b = static_cast<int>(blockIdx.z), head = static_cast<int>(blockIdx.y);
  const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * S::kRows;
  const int kv_head = head / (z.heads / z.kv_heads);
  const Own<kHead> own;
  float sums[S::kOwn] = {};
  load_tile<kHead>(z, q, b, first, head, z.heads, queries);
  load_tile<kHead>(z, dout, b, first, head, z.heads, douts);
  for (int at = 0; at <= first; at += S::kRows) {
    __syncthreads();
    load_tile<kHead>(z, k, b, at, kv_head, z.kv_heads, keys);
    load_tile<kHead>(z, v, b, at, kv_head, z.kv_heads, values);
    __syncthreads();
    multiply_rows<kHead>(queries, keys, scores);
    multiply_rows<kHead>(douts, values, gradients);
    probabilities_and_gradients<kHead>(z, b, head, first, at, lse, delta, scores, gradients);
    __syncthreads();
    for (int j = 0; j < S::kRows; ++j) {
      const float ds = gradients[own.row * S::kRows + j];
      for (int i = 0; i < S::kOwn; ++i) sums[i] += ds * keys[j * S::kStride + own.column(i)];
    }
  }
  store_row(z, own, sums, b, first + own.row, head, z.heads, dq);
}

// Blocks: key tiles, key/value heads, the batch. The query heads of a group are summed in order.
template <class T, int kHead>
__global__ void __launch_bounds__(kBlock)
    attention_key_gradients(AttentionSizes z, const T* dout, const T* q, const T* k, const T* v,
                            const float* lse, const float* delta, T* dk, T* dv) {
  using S = Tiles<kHead>;
  __shared__ typename S::Tile queries, douts, keys, values;
  __shared__ typename S::Scores scores, gradients;
  const int b = static_cast<int>(blockIdx.z), kv_head = static_cast<int>(blockIdx.y);
  const int first = static_cast<int>(blockIdx.x) * S::kRows, group = z.heads / z.kv_heads;
  const Own<kHead> own;
  float key_sums[S::kOwn] = {}, value_sums[S::kOwn] = {};
  load_tile<kHead>(z, k, b, first, kv_head, z.kv_heads, keys);
  load_tile<kHead>(z, v, b, first, kv_head, z.kv_heads, values);
  for (int head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    for (int at = first; at < z.sequence; at += S::kRows) {
      __syncthreads();
      load_tile<kHead>(z, q, b, at, head, z.heads, queries);
      load_tile<kHead>(z, dout, b, at, head, z.heads, douts);
      __syncthreads();
      multiply_rows<kHead>(queries, keys, scores);
      multiply_rows<kHead>(douts, values, gradients);
      probabilities_and_gradients<kHead>(z, b, head, at, first, lse, delta, scores, gradients);
      __syncthreads();
      for (int j = 0; j < S::kRows; ++j) {
        const float p = scores[j * S::kRows + own.row], ds = gradients[j * S::kRows + own.row];
        for (int i = 0; i < S::kOwn; ++i) {
          value_sums[i] += p * douts[j * S::kStride + own.column(i)];
          key_sums[i] += ds * queries[j * S::kStride + own.column(i)];
        }
      }
    }
  }
  store_row(z, own, key_sums, b, first + own.row, kv_head, z.kv_heads, dk);
  store_row(z, own, value_sums, b, first + own.row, kv_head, z.kv_heads, dv);
}

AttentionSizes sizes_of(const CudaLaunch& a) {
  const auto [B, S, H, K, d] = a.key.dims;
  return {static_cast<int>(B), static_cast<int>(S), static_cast<int>(H),
          static_cast<int>(K), static_cast<int>(d), 1.0F / std::sqrt(static_cast<float>(d))};
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

// cuDNN, if it computes this attention.
FusedAttention* fused(const CudaLaunch& a) {
  const DeviceTraits with_cudnn{.has_fused_attention = true};
  return is_fused_attention(a.key, with_cudnn) ? a.tools.attention : nullptr;
}

AttentionShape shape_of(const CudaLaunch& a) {
  const auto [B, S, H, K, d] = a.key.dims;
  return {B, S, H, K, d};
}

bool run_fused(const CudaLaunch& a) {
  FusedAttention* const cudnn = fused(a);
  if (cudnn == nullptr) return false;
  const AttentionForward tensors{a.reads[0].data(), a.reads[1].data(), a.reads[2].data(),
                                 a.writes[0].data(), output<float>(a, 1)};
  return cudnn->forward(shape_of(a), tensors,
                        {a.tools.partials, StreamTools::kPartials * sizeof(double)},
                        a.tools.stream);
}

bool run_fused_backward(const CudaLaunch& a) {
  FusedAttention* const cudnn = fused(a);
  if (cudnn == nullptr) return false;
  const AttentionBackward tensors{a.reads[0].data(),  a.reads[1].data(),  a.reads[2].data(),
                                  a.reads[3].data(),  a.reads[4].data(),  input<float>(a, 5),
                                  a.writes[0].data(), a.writes[1].data(), a.writes[2].data()};
  return cudnn->backward(shape_of(a), tensors, {a.writes[3].data(), a.writes[3].size()},
                         a.tools.stream);
}

}  // namespace

void run_attention(const CudaLaunch& a) {
  if (run_fused(a)) return;
  const AttentionSizes z = sizes_of(a);
  with_head(a, [&](auto element, auto head) {
    using T = decltype(element);
    constexpr int kHead = decltype(head)::value;
    start(a, grid<kHead>(z, z.heads), kBlock, attention_forward<T, kHead>, z, input<T>(a, 0),
          input<T>(a, 1), input<T>(a, 2), output<T>(a, 0), output<float>(a, 1));
  });
}

void run_attention_backward(const CudaLaunch& a) {
  if (run_fused_backward(a)) return;
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
    start(a, grid<kHead>(z, z.heads), kBlock, attention_query_gradients<T, kHead>, z, dout, q, k, v,
          lse, delta, output<T>(a, 0));
    start(a, grid<kHead>(z, z.kv_heads), kBlock, attention_key_gradients<T, kHead>, z, dout, q, k,
          v, lse, delta, output<T>(a, 1), output<T>(a, 2));
  });
}

}  // namespace foreshard::executor::cuda
