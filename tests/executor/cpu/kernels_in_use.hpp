// The inner loops that a test runs with.
#pragma once

#include "executor/cpu/simd/table.hpp"

namespace foreshard::executor {

// Compiled for no processor's instructions: plain, with pairs of bf16, with tiles in software.
const SimdKernels& sixteen_lane_kernels();
const SimdKernels& sixteen_lane_pair_kernels();
const SimdKernels& software_tile_kernels();

// As long as it lives; then those before it again, which FORESHARD_SIMD may have asked for.
class KernelsInUse {
 public:
  explicit KernelsInUse(const SimdKernels& kernels) : before_(simd_kernels()) {
    use_simd_kernels(kernels);
  }
  ~KernelsInUse() { use_simd_kernels(before_); }
  KernelsInUse(const KernelsInUse&) = delete;
  KernelsInUse& operator=(const KernelsInUse&) = delete;

 private:
  const SimdKernels& before_;
};

}  // namespace foreshard::executor
