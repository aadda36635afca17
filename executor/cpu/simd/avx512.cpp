// The inner loops for processors with AVX-512.
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
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")
#endif

namespace foreshard::executor {
namespace {

constexpr std::string_view kName = "avx512";
constexpr int kWidth = 16, kTileRows = 12, kTileVectors = 2;

// clang-format off
#include "executor/cpu/simd/masked_parts.inl"
#include "executor/cpu/simd/kernels.inl"
// clang-format on

}  // namespace

const SimdKernels& avx512_kernels() {
  return kKernels;
}

}  // namespace foreshard::executor

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
