// Linear layers: y = x w' (+ bias) and its gradients, as products of strided operands.
#include <algorithm>

#include "executor/cpu/operands.hpp"

namespace foreshard::executor {
namespace {

// Cuts the longer side of the result into one piece a thread. Each thread packs into its own part
// of the workspace, and parts too small for blocks worth packing are not handed out.
void multiply(const KernelArguments& a, const MatrixProduct& product) {
  constexpr std::int64_t kSmallestPart = 96 * 1024;  // bytes
  const SimdKernels& simd = simd_kernels();
  const std::span<std::byte> workspace = a.writes.back();
  const auto bytes = static_cast<std::int64_t>(workspace.size());
  const std::int64_t longest =
      std::clamp<std::int64_t>(bytes / kSmallestPart, 1, a.workers.threads());
  const bool cuts_rows = product.m >= product.n;
  const std::int64_t step = cuts_rows ? simd.tile_rows : simd.tile_columns;
  const std::int64_t length = cuts_rows ? product.m : product.n;
  const std::int64_t grain = round_up(ceil_divide(length, longest), step);
  const std::int64_t floats = bytes / longest / item_size(DType::fp32);
  a.workers.run_ranges(length, grain, [&](std::int64_t begin, std::int64_t end, int) {
    const std::span<float> part(reinterpret_cast<float*>(workspace.data()) + begin / grain * floats,
                                static_cast<std::size_t>(floats));
    simd.multiply[variant(a.key.dtype)](product, cuts_rows ? begin : 0, cuts_rows ? end : product.m,
                                        cuts_rows ? 0 : begin, cuts_rows ? product.n : end, part);
  });
}

}  // namespace

void run_matmul(const KernelArguments& a) {
  const auto [T, N, K, has_bias, unused] = a.key.dims;
  MatrixProduct p{.m = T, .n = N, .k = K};
  p.a = input(a, 0), p.a_row = K, p.a_step = 1;
  p.b = input(a, 1), p.b_step = 1, p.b_column = K;
  p.c = output(a, 0), p.c_row = N;
  if (has_bias != 0) p.bias = input(a, 2);
  multiply(a, p);
}

void run_matmul_input_gradient(const KernelArguments& a) {
  const auto [T, K, N, accumulate, unused] = a.key.dims;
  MatrixProduct p{.m = T, .n = K, .k = N};
  p.a = input(a, 0), p.a_row = N, p.a_step = 1;
  p.b = input(a, 1), p.b_step = K, p.b_column = 1;
  p.c = output(a, 0), p.c_row = K;
  p.accumulate = accumulate != 0;
  multiply(a, p);
}

void run_matmul_weight_gradient(const KernelArguments& a) {
  const std::int64_t N = a.key.dims[0], K = a.key.dims[1], T = a.key.dims[2];
  MatrixProduct p{.m = N, .n = K, .k = T};
  p.a = input(a, 0), p.a_row = 1, p.a_step = N;
  p.b = input(a, 1), p.b_step = K, p.b_column = 1;
  p.c = output(a, 0), p.c_row = K;
  multiply(a, p);
}

void run_bias_gradient(const KernelArguments& a) {
  const std::int64_t T = a.key.dims[0], N = a.key.dims[1];
  constexpr std::int64_t kColumns = 64;
  const std::int64_t item = item_size(a.key.dtype);
  const SimdKernels& simd = simd_kernels();
  a.workers.run_ranges(N, kColumns, [&](std::int64_t begin, std::int64_t end, int) {
    simd.sum_rows[variant(a.key.dtype)](input(a, 0) + begin * item, T, N, end - begin,
                                        output(a, 0) + begin * item);
  });
}

}  // namespace foreshard::executor
