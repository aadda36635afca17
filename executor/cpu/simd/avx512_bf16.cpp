// The inner loops for processors with AVX-512 and its bf16 products.
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "executor/cpu/simd/bfloat16.hpp"
#include "executor/cpu/simd/instruction_sets.hpp"
#include "executor/cpu/simd/table.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                          \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma"))), \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")
#endif

namespace foreshard::executor {
namespace {

constexpr std::string_view kName = "avx512_bf16";
constexpr int kWidth = 16, kTileRows = 12, kTileVectors = 2;

#define FORESHARD_ADD_PAIRS(sum, left, right)                                 \
  reinterpret_cast<Floats>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),    \
                                            reinterpret_cast<__m512bh>(left), \
                                            reinterpret_cast<__m512bh>(right)))

// clang-format off
#include "executor/cpu/simd/masked_parts.inl"
#include "executor/cpu/simd/kernels.inl"
// clang-format on

}  // namespace

const SimdKernels& avx512_bf16_kernels() {
  return kKernels;
}

}  // namespace foreshard::executor

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
