// Tiles of attention in shared memory, and the two products that are made of them by register
// tiles.
//
// A tile has kRows rows of one head, 2048 elements for any head size, so that four of them fit into
// static shared memory. What a product reads of it decides how fast the kernels are, as an SM reads
// one element of shared memory for every four multiply-adds it can do:
//   scores = x y'    a thread has 4 x 4 scores over a part of the columns: of 4 columns it reads
//                    eight vectors of four for 64 multiply-adds, half an element for each. Threads
//                    that share scores add them up by 14 shuffles for 256 multiply-adds (heads of
//                    128).
//   sums += w' x     a thread has 4 rows x 4 columns of the sums: two vectors for 16
//                    multiply-adds, half an element for each.
// One output of a thread at a time would read two elements for each multiply-add of scores, and
// more than one of sums.
//
// Banks: the eight threads that a vector load serves at a time read one row (heads of 128 and
// more), or four neighbouring rows, which lie eight banks apart; or they read the same.
#pragma once

#include "executor/cuda/kernels/launch.cuh"

namespace foreshard::executor::cuda {

constexpr int kAttentionThreads = 128;

// Of the tiles for heads of up to `kHead` elements.
template <int kHead>
struct Tiles {
  static constexpr int kRows = 2048 / kHead;
  static constexpr int kLanes = kAttentionThreads / kRows;  // threads of a row, where each has one
  static constexpr int kStride = kHead + 8;                 // between rows
  static constexpr int kScoreStride = kRows + 4;
  using Tile = float[kRows * kStride];
  using Scores = float[kRows * kScoreStride];
};

struct AttentionSizes {
  int batch, sequence, heads, kv_heads, head_dim;
  int window;  // tokens that a token sees, itself the last of them; at most the sequence
  float scale;

  __host__ __device__ std::int64_t row(int b, int s, int h, int of_heads) const {
    return ((static_cast<std::int64_t>(b) * sequence + s) * of_heads + h) * head_dim;
  }
  __host__ __device__ std::int64_t statistic(int b, int h, int s) const {
    return (static_cast<std::int64_t>(b) * heads + h) * sequence + s;
  }
};

__device__ inline float4& vector_at(float* at) {
  return *reinterpret_cast<float4*>(at);
}
__device__ inline float4 vector_at(const float* at) {
  return *reinterpret_cast<const float4*>(at);
}

// A tile's rows from `first` on, of one head; zeros beyond the sequence and the head.
template <int kHead, class T>
__device__ void load_tile(const AttentionSizes& z, const T* from, int b, int first, int head,
                          int of_heads, float* tile) {
  using S = Tiles<kHead>;
  for (int i = static_cast<int>(threadIdx.x) * kEach; i < S::kRows * kHead;
       i += kAttentionThreads * kEach) {
    const int r = i / kHead, c = i % kHead;
    const int count = first + r < z.sequence ? z.head_dim - c : 0;
    const Floats x = load(count > 0 ? from + z.row(b, first + r, head, of_heads) + c : from, count);
    float* const to = tile + r * S::kStride + c;
#pragma unroll
    for (int part = 0; part < kEach; part += 4) {
      vector_at(to + part) = {x.at[part], x.at[part + 1], x.at[part + 2], x.at[part + 3]};
    }
  }
}

// Adds up what `kParts` threads, neighbours, have of kCount sums each. Every thread keeps an equal
// part of the results, in the threads' order, at the beginning; where there are more threads than
// sums, several keep the same one.
template <int kParts, int kCount>
__device__ void share_out(float* sums) {
  if constexpr (kParts > 1) {
    constexpr int kDistance = kParts / 2;
    if constexpr (kCount == 1) {
      sums[0] += __shfl_xor_sync(~0U, sums[0], kDistance);
      share_out<kDistance, 1>(sums);
    } else {
      constexpr int kKept = kCount / 2;
      const bool keeps_upper = (threadIdx.x & kDistance) != 0;
#pragma unroll
      for (int i = 0; i < kKept; ++i) {
        const float given = keeps_upper ? sums[i] : sums[kKept + i];
        const float kept = keeps_upper ? sums[kKept + i] : sums[i];
        sums[i] = kept + __shfl_xor_sync(~0U, given, kDistance);
      }
      share_out<kDistance, kKept>(sums);
    }
  }
}

// Which scores a thread has of two tiles, x and y, once it and its neighbours have added them up.
template <int kHead>
struct OwnScores {
  static constexpr int kAcross = Tiles<kHead>::kRows / 4;                 // squares of 4 x 4
  static constexpr int kParts = kAttentionThreads / (kAcross * kAcross);  // threads of a square
  static constexpr int kCount = kParts < 16 ? 16 / kParts : 1;

  int part = static_cast<int>(threadIdx.x) % kParts;
  int square = static_cast<int>(threadIdx.x) / kParts;

  // Rows of a square are kAcross apart. `i`: of its 16 scores.
  __device__ int x_row(int i) const { return square / kAcross + i / 4 * kAcross; }
  __device__ int y_row(int i) const { return square % kAcross + i % 4 * kAcross; }
  // Of this thread's kCount scores.
  __device__ int number(int i) const { return kParts <= 16 ? part * kCount + i : part / 2; }
  __device__ bool is_first_owner() const { return kParts <= 16 || part % 2 == 0; }
};

// scores[i] = the products of rows of x with rows of y that are the thread's own.
template <int kHead>
__device__ void multiply_rows(const float* x, const float* y, const OwnScores<kHead>& own,
                              float (&scores)[OwnScores<kHead>::kCount]) {
  using S = Tiles<kHead>;
  float sums[16] = {};
#pragma unroll
  for (int c = 4 * own.part; c < kHead; c += 4 * OwnScores<kHead>::kParts) {
    float4 a[4], b[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = vector_at(x + own.x_row(4 * i) * S::kStride + c);
      b[i] = vector_at(y + own.y_row(i) * S::kStride + c);
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const float4 &p = a[i / 4], &q = b[i % 4];
      sums[i] += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
    }
  }
  share_out<OwnScores<kHead>::kParts, 16>(sums);
#pragma unroll
  for (int i = 0; i < OwnScores<kHead>::kCount; ++i) scores[i] = sums[i];
}

// Which 4 x 4 of a tile's sums a thread has.
template <int kHead>
struct OwnSums {
  int row = static_cast<int>(threadIdx.x) / (kHead / 4) * 4;  // the first
  int column = static_cast<int>(threadIdx.x) % (kHead / 4) * 4;
};

struct Sums {
  float4 rows[4] = {};
};

__device__ inline void add(float weight, const float4& x, float4& sum) {
  sum.x += weight * x.x;
  sum.y += weight * x.y;
  sum.z += weight * x.z;
  sum.w += weight * x.w;
}

// sums[i] += the rows of x, each times its weight for row i: `weights` has a row for each row of x.
template <int kHead>
__device__ void add_weighted_rows(const float* weights, const float* x, const OwnSums<kHead>& own,
                                  Sums& sums) {
  using S = Tiles<kHead>;
#pragma unroll 4
  for (int j = 0; j < S::kRows; ++j) {
    const float4 w = vector_at(weights + j * S::kScoreStride + own.row);
    const float4 row = vector_at(x + j * S::kStride + own.column);
    add(w.x, row, sums.rows[0]);
    add(w.y, row, sums.rows[1]);
    add(w.z, row, sums.rows[2]);
    add(w.w, row, sums.rows[3]);
  }
}

// A tile's rows from `first` on, where they are within the sequence.
template <int kHead, class T>
__device__ void store_tile(const AttentionSizes& z, const OwnSums<kHead>& own, const Sums& sums,
                           int b, int first, int head, int of_heads, T* to) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int position = first + own.row + i;
    if (position >= z.sequence) return;
    T* const row = to + z.row(b, position, head, of_heads) + own.column;
    const float columns[] = {sums.rows[i].x, sums.rows[i].y, sums.rows[i].z, sums.rows[i].w};
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (own.column + c < z.head_dim) row[c] = from_float<T>(columns[c]);
    }
  }
}

}  // namespace foreshard::executor::cuda
