// Token embedding: rows looked up, and their gradients added up.
//
// The gradient brings equal tokens together by sorting their positions, so that each row of the
// weight is summed by one block in the order of positions, in fp32, and rounded once. A scan
// without a sort would compare every token with every other: of 131072 tokens that reads 32 times
// what the gradient of rows of 4096 in bf16 does. The positions lie twice in the scratch, 4 T bytes
// each, for a merge sort: tiles of kTile are sorted in shared memory, then runs are merged from one
// half to the other, where every element finds its place by itself.
#include <utility>

#include "executor/cuda/kernels/launch.cuh"

namespace foreshard::executor::cuda {
namespace {

template <class T>
__global__ void embedding(std::int64_t width, const T* weight, const std::int32_t* token, T* out) {
  const std::int64_t t = blockIdx.x;
  const T* const from = weight + token[t] * width;
  T* const to = out + t * width;
  for (std::int64_t i = threadIdx.x * kEach; i < width; i += blockDim.x * kEach) {
    store_elements(to + i, load_elements(from + i, width - i), width - i);
  }
}

constexpr int kTile = 2048;

// Positions of each tile in the order of their tokens, equal ones in their own order: a bitonic
// sort whose comparators all point the same way, as the first step of every merge mirrors its
// second half.
__global__ void __launch_bounds__(kTile / 2)
    sort_tiles(std::int64_t tokens, const std::int32_t* token, std::int32_t* positions) {
  __shared__ unsigned long long keys[kTile];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < kTile; i += kTile / 2) {
    const std::int64_t t = first + i;
    keys[i] = t < tokens
                  ? static_cast<unsigned long long>(token[t]) << 32 | static_cast<unsigned>(t)
                  : ~0ULL;
  }
  for (int run = 2; run <= kTile; run *= 2) {
    for (int distance = run / 2; distance > 0; distance /= 2) {
      __syncthreads();
      const int within = thread & (distance - 1), low = 2 * thread - within;
      const int high = distance == run / 2 ? low + run - 1 - 2 * within : low + distance;
      const unsigned long long a = keys[low], b = keys[high];
      if (a > b) {
        keys[low] = b;
        keys[high] = a;
      }
    }
  }
  __syncthreads();
  for (int i = thread; i < kTile; i += kTile / 2) {
    if (first + i < tokens) positions[first + i] = static_cast<std::int32_t>(keys[i]);
  }
}

// Places in sorted [begin, end) before those whose token is not below `bound`.
__device__ std::int64_t lower_bound(const std::int32_t* token, const std::int32_t* sorted,
                                    std::int64_t begin, std::int64_t end, std::int64_t bound) {
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (token[sorted[middle]] < bound) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

// Merges each pair of runs. An element goes where its own run's elements before it and the other
// run's smaller ones leave it; of equal tokens the first run's come first.
__global__ void merge_runs(std::int64_t tokens, std::int64_t run, const std::int32_t* token,
                           const std::int32_t* from, std::int32_t* to) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= tokens) return;
  const std::int64_t pair = i / (2 * run) * (2 * run), middle = min(pair + run, tokens),
                     end = min(pair + 2 * run, tokens);
  const std::int64_t mine = token[from[i]];
  const std::int64_t place = i < middle
                                 ? i + lower_bound(token, from, middle, end, mine) - middle
                                 : i - middle + lower_bound(token, from, pair, middle, mine + 1);
  to[place] = from[i];
}

// One past the last of the equal tokens that begin at `begin`, which are few more often than not.
__device__ std::int64_t end_of_equal(const std::int32_t* token, const std::int32_t* sorted,
                                     std::int64_t begin, std::int64_t tokens) {
  const std::int32_t mine = token[sorted[begin]];
  std::int64_t step = 1;
  while (begin + step < tokens && token[sorted[begin + step]] == mine) step *= 2;
  return lower_bound(token, sorted, begin + step / 2, min(begin + step, tokens),
                     std::int64_t{mine} + 1);
}

// Each block adds up the rows that begin among kStarts sorted positions, for some of the columns.
constexpr int kStarts = 8;

// Gradients that a thread loads before it adds them up: tokens such as a blank's are so frequent that a block
// sums hundreds of rows, and would wait for each.
template <class T>
constexpr int kGradientsAtOnce = 16 / sizeof(T);

template <class T>
__global__ void __launch_bounds__(kThreads, 3)
    add_gradients(std::int64_t tokens, std::int64_t width, bool accumulate, const T* dout,
                  const std::int32_t* token, const std::int32_t* sorted, T* dweight) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * kEach;
  const std::int64_t count = width - column;
  if (count <= 0) return;
  const auto sum_of = [](float a, float b) { return a + b; };
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kStarts;
  for (std::int64_t i = first; i < min(first + kStarts, tokens); ++i) {
    const std::int32_t row = token[sorted[i]];
    if (i > 0 && token[sorted[i - 1]] == row) continue;
    const std::int64_t end = end_of_equal(token, sorted, i, tokens);
    T* const target = dweight + row * width + column;
    Floats sum{};
    if (accumulate) sum = each(sum_of, sum, load(target, count));
    for (std::int64_t j = i; j < end; j += kGradientsAtOnce<T>) {
      std::int32_t position[kGradientsAtOnce<T>];
      Elements<T> term[kGradientsAtOnce<T>];
#pragma unroll
      for (int n = 0; n < kGradientsAtOnce<T>; ++n) {
        if (j + n < end) position[n] = sorted[j + n];
      }
#pragma unroll
      for (int n = 0; n < kGradientsAtOnce<T>; ++n) {
        if (j + n < end) term[n] = load_elements(dout + position[n] * width + column, count);
      }
#pragma unroll
      for (int n = 0; n < kGradientsAtOnce<T>; ++n) {
        if (j + n < end) sum = each(sum_of, sum, widened(term[n]));
      }
    }
    store(target, sum, count);
  }
}

}  // namespace

void run_embedding(const CudaLaunch& a) {
  const std::int64_t tokens = a.key.dims[0], width = a.key.dims[2];
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    start(a, cover(tokens, 1), threads_of_row(width, kThreads), embedding<T>, width, input<T>(a, 0),
          input<std::int32_t>(a, 1), output<T>(a, 0));
  });
}

void run_embedding_backward(const CudaLaunch& a) {
  const std::int64_t tokens = a.key.dims[0], width = a.key.dims[2];
  const bool accumulate = a.key.dims[3] != 0;
  const auto* const token = input<std::int32_t>(a, 1);
  auto* sorted = output<std::int32_t>(a, 1);
  auto* other = sorted + tokens;
  if (!accumulate) {
    check(cudaMemsetAsync(a.writes[0].data(), 0, a.writes[0].size(), a.tools.stream),
          "cudaMemsetAsync");
  }
  start(a, cover(tokens, kTile), kTile / 2, sort_tiles, tokens, token, sorted);
  for (std::int64_t run = kTile; run < tokens; run *= 2) {
    start(a, cover(tokens, kThreads), kThreads, merge_runs, tokens, run, token, sorted, other);
    std::swap(sorted, other);
  }
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    const int threads = threads_of_row(width, kThreads);
    const dim3 blocks(cover(tokens, kStarts).x, cover(width, threads, kEach).x);
    start(a, blocks, threads, add_gradients<T>, tokens, width, accumulate, input<T>(a, 0), token,
          sorted, output<T>(a, 0));
  });
}

}  // namespace foreshard::executor::cuda
