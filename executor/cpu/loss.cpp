// Mean cross entropy of a micro-batch and its gradient in the logits.
#include "executor/cpu/operands.hpp"

namespace foreshard::executor {

// The log sums are made in parallel; the loss is then added up in double, in the order of tokens.
void run_cross_entropy(const KernelArguments& a) {
  const std::int64_t tokens = a.key.dims[0], width = a.key.dims[1], micro_steps = a.key.dims[2];
  const std::int64_t item = item_size(a.key.dtype);
  const SimdKernels& simd = simd_kernels();
  float* const lse = output<float>(a, 0);
  a.workers.run_ranges(tokens, rows_per_grain(width),
                       [&](std::int64_t begin, std::int64_t end, int) {
                         simd.cross_entropy[variant(a.key.dtype)](
                             input(a, 0) + begin * width * item, lse + begin, end - begin, width);
                       });
  const std::int32_t* targets = input<std::int32_t>(a, 1);
  double sum = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t at = t * width + targets[t];
    const float logit =
        a.key.dtype == DType::bf16 ? to_float(input<BFloat16>(a, 0)[at]) : input<float>(a, 0)[at];
    sum += static_cast<double>(lse[t]) - static_cast<double>(logit);
  }
  *output<double>(a, 1) += sum / static_cast<double>(tokens) / static_cast<double>(micro_steps);
}

void run_cross_entropy_backward(const KernelArguments& a) {
  const std::int64_t tokens = a.key.dims[0], width = a.key.dims[1], micro_steps = a.key.dims[2];
  const std::int64_t item = item_size(a.key.dtype);
  const float scale = static_cast<float>(1.0 / static_cast<double>(tokens * micro_steps));
  const SimdKernels& simd = simd_kernels();
  a.workers.run_ranges(tokens, rows_per_grain(width),
                       [&](std::int64_t begin, std::int64_t end, int) {
                         simd.cross_entropy_backward[variant(a.key.dtype)](
                             output(a, 0) + begin * width * item, input<std::int32_t>(a, 0) + begin,
                             input<float>(a, 1) + begin, end - begin, width, scale);
                       });
}

}  // namespace foreshard::executor
