// Operators without structure: each element by itself.
#include <cstring>

#include "executor/cpu/operands.hpp"

namespace foreshard::executor {

void run_swiglu(const KernelArguments& a) {
  const std::int64_t n = a.key.dims[0] * a.key.dims[1], item = item_size(a.key.dtype);
  const SimdKernels& simd = simd_kernels();
  a.workers.run_ranges(n, kGrain, [&](std::int64_t begin, std::int64_t end, int) {
    const std::int64_t at = begin * item;
    simd.swiglu[variant(a.key.dtype)](input(a, 0) + at, input(a, 1) + at, output(a, 0) + at,
                                      end - begin);
  });
}

void run_swiglu_backward(const KernelArguments& a) {
  const std::int64_t n = a.key.dims[0] * a.key.dims[1], item = item_size(a.key.dtype);
  const SimdKernels& simd = simd_kernels();
  a.workers.run_ranges(n, kGrain, [&](std::int64_t begin, std::int64_t end, int) {
    const std::int64_t at = begin * item;
    simd.swiglu_backward[variant(a.key.dtype)](input(a, 0) + at, output(a, 0) + at,
                                               output(a, 1) + at, end - begin);
  });
}

void run_add(const KernelArguments& a) {
  const auto kernel = simd_kernels().add[variant(a.key.dtype2)][variant(a.key.dtype)];
  a.workers.run_ranges(a.key.dims[0], kGrain, [&](std::int64_t begin, std::int64_t end, int) {
    kernel(input(a, 0) + begin * item_size(a.key.dtype2),
           output(a, 0) + begin * item_size(a.key.dtype), end - begin);
  });
}

void run_cast(const KernelArguments& a) {
  const auto kernel = simd_kernels().cast[variant(a.key.dtype2)][variant(a.key.dtype)];
  a.workers.run_ranges(a.key.dims[0], kGrain, [&](std::int64_t begin, std::int64_t end, int) {
    kernel(input(a, 0) + begin * item_size(a.key.dtype2),
           output(a, 0) + begin * item_size(a.key.dtype), end - begin);
  });
}

void run_fill_zero(const KernelArguments& a) {
  if (!a.writes[0].empty()) std::memset(output(a, 0), 0, a.writes[0].size());
}

}  // namespace foreshard::executor
