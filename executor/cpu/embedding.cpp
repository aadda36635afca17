// Token embedding: rows looked up, and their gradients added up.
#include <algorithm>
#include <cstring>

#include "executor/cpu/operands.hpp"

namespace foreshard::executor {

void run_embedding(const KernelArguments& a) {
  const std::int64_t tokens = a.key.dims[0], width = a.key.dims[2];
  const std::int64_t row_bytes = width * item_size(a.key.dtype);
  const std::int32_t* token = input<std::int32_t>(a, 1);
  a.workers.run_ranges(
      tokens, rows_per_grain(width), [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
          std::memcpy(output(a, 0) + t * row_bytes, input(a, 0) + token[t] * row_bytes,
                      static_cast<std::size_t>(row_bytes));
        }
      });
}

// Equal tokens are brought together by sorting (token, position); the rows of each are added in
// fp32, in the order of positions, and rounded once. Threads share the columns.
void run_embedding_backward(const KernelArguments& a) {
  const std::int64_t tokens = a.key.dims[0], vocabulary = a.key.dims[1], width = a.key.dims[2];
  const bool adds = a.key.dims[3] != 0;
  const std::size_t type = variant(a.key.dtype);
  const std::int64_t item = item_size(a.key.dtype), row_bytes = width * item;
  const std::int32_t* token = input<std::int32_t>(a, 1);
  auto* const sorted = output<std::uint64_t>(a, 1);
  float* const sum = reinterpret_cast<float*>(sorted + tokens);
  for (std::int64_t t = 0; t < tokens; ++t) {
    sorted[t] = static_cast<std::uint64_t>(token[t]) << 32 | static_cast<std::uint64_t>(t);
  }
  std::sort(sorted, sorted + tokens);
  if (!adds) {
    const std::int64_t bytes = vocabulary * row_bytes, grain = kGrain * item;
    a.workers.run_ranges(bytes, grain, [&](std::int64_t begin, std::int64_t end, int) {
      std::memset(output(a, 0) + begin, 0, static_cast<std::size_t>(end - begin));
    });
  }
  const SimdKernels& simd = simd_kernels();
  const std::int64_t columns = round_up(ceil_divide(width, a.workers.threads()), 64);
  a.workers.run_ranges(width, columns, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = 0; i < tokens;) {
      const std::uint64_t row = sorted[i] >> 32;
      std::byte* const target =
          output(a, 0) + static_cast<std::int64_t>(row) * row_bytes + begin * item;
      std::fill(sum + begin, sum + end, 0.0F);
      if (adds) simd.add[type][0](target, sum + begin, end - begin);
      for (; i < tokens && sorted[i] >> 32 == row; ++i) {
        const auto position = static_cast<std::int64_t>(sorted[i] & 0xffffffffU);
        simd.add[type][0](input(a, 0) + position * row_bytes + begin * item, sum + begin,
                          end - begin);
      }
      simd.cast[0][type](sum + begin, target, end - begin);
    }
  });
}

}  // namespace foreshard::executor
