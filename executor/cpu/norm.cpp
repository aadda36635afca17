// RMSNorm and its gradients.
#include "executor/cpu/operands.hpp"

namespace foreshard::executor {

void run_rms_norm(const KernelArguments& a) {
  const std::int64_t rows = a.key.dims[0], width = a.key.dims[1];
  const std::int64_t row_bytes = width * item_size(a.key.dtype);
  const SimdKernels& simd = simd_kernels();
  a.workers.run_ranges(rows, rows_per_grain(width), [&](std::int64_t begin, std::int64_t end, int) {
    simd.rms_norm[variant(a.key.dtype)](input(a, 0) + begin * row_bytes, input(a, 1),
                                        output(a, 0) + begin * row_bytes,
                                        output<float>(a, 1) + begin, end - begin, width,
                                        static_cast<float>(a.scalars.rms_norm_eps));
  });
}

// The weight's gradient is summed over norm_partials() fixed ranges of rows, then over the ranges.
void run_rms_norm_backward(const KernelArguments& a) {
  const std::int64_t rows = a.key.dims[0], width = a.key.dims[1];
  const bool accumulate = a.key.dims[2] != 0;
  const std::int64_t row_bytes = width * item_size(a.key.dtype);
  const SimdKernels& simd = simd_kernels();
  float* const partials = output<float>(a, 2);
  const std::int64_t parts = norm_partials({});
  a.workers.run(parts, [&](std::int64_t part, int) {
    const std::int64_t begin = rows * part / parts, end = rows * (part + 1) / parts;
    simd.rms_norm_backward[variant(a.key.dtype)](
        input(a, 0) + begin * row_bytes, input(a, 1) + begin * row_bytes, input(a, 2),
        input<float>(a, 3) + begin, output(a, 0) + begin * row_bytes, partials + part * width,
        end - begin, width, accumulate);
  });
  simd.sum_rows[0](partials, parts, width, width, partials);
  simd.cast[0][variant(a.key.dtype)](partials, output(a, 1), width);
}

}  // namespace foreshard::executor
