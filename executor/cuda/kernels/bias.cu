// The gradient of a linear layer's bias: the sum of its output's gradient over tokens.
#include "executor/cuda/kernels/column_sums.cuh"

namespace foreshard::executor::cuda {

void run_bias_gradient(const CudaLaunch& a) {
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    sum_columns(a, a.key.dims[0], a.key.dims[1], input<T>(a, 0), output<T>(a, 0));
  });
}

}  // namespace foreshard::executor::cuda
