// The inner loops for processors with AVX2 and fused multiply-add.
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
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

namespace foreshard::executor {
namespace {

constexpr std::string_view kName = "avx2";
constexpr int kWidth = 8, kTileRows = 6, kTileVectors = 2;

#define FORESHARD_EXTEND(halves) \
  reinterpret_cast<Bits>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(halves)))

#include "executor/cpu/simd/kernels.inl"

}  // namespace

const SimdKernels& avx2_kernels() {
  return kKernels;
}

}  // namespace foreshard::executor

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
