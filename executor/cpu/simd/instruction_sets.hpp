// The tables of inner loops that were compiled, one per instruction set. Asking for one is safe on
// any processor; running it is not: see available_simd_kernels().
#pragma once

#include "executor/cpu/simd/table.hpp"
#include "executor/device/processor.hpp"

namespace foreshard::executor {

const SimdKernels& baseline_kernels();
#if defined(__x86_64__)
const SimdKernels& avx2_kernels();
const SimdKernels& avx512_kernels();
const SimdKernels& avx512_bf16_kernels();
const SimdKernels& amx_kernels();
#endif

}  // namespace foreshard::executor
