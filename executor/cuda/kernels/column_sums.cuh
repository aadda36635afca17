// Sums over the rows of a matrix, in fp32: of a gradient of a bias, or of partial sums.
#pragma once

#include "executor/cuda/kernels/launch.cuh"
#include "executor/cuda/kernels/reduce.cuh"

namespace foreshard::executor::cuda {

constexpr int kSideBySide = 8;  // threads of a block along a row: kSideBySide * kEach columns

// to[columns] = sum over rows of from[rows, columns]: every thread adds up each so many-th row, and
// then a thread for each column what those of its column have.
template <class From, class To>
__global__ void __launch_bounds__(kMostThreads)
    add_rows_up(std::int64_t rows, std::int64_t columns, const From* from, To* to) {
  constexpr int kColumns = kSideBySide * kEach, kRows = kMostThreads / kSideBySide;
  __shared__ float shown[kRows][kColumns];
  const int x = static_cast<int>(threadIdx.x) % kSideBySide,
            y = static_cast<int>(threadIdx.x) / kSideBySide;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kColumns;
  const std::int64_t column = first + x * kEach;
  Floats sum{};
#pragma unroll 4
  for (std::int64_t row = y; row < rows; row += kRows) {
    const Floats term = load(from + row * columns + column, columns - column);
    sum = each([](float a, float b) { return a + b; }, sum, term);
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) shown[y][x * kEach + i] = sum.at[i];
  __syncthreads();
  const int mine = static_cast<int>(threadIdx.x);
  if (mine >= kColumns || first + mine >= columns) return;
  float total = 0;
  for (int i = 0; i < kRows; ++i) total += shown[i][mine];
  to[first + mine] = from_float<To>(total);
}

template <class From, class To>
void sum_columns(const CudaLaunch& a, std::int64_t rows, std::int64_t columns, const From* from,
                 To* to) {
  start(a, cover(columns, kSideBySide, kEach), kMostThreads, add_rows_up<From, To>, rows, columns,
        from, to);
}

}  // namespace foreshard::executor::cuda
