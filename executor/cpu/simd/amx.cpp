// The inner loops for processors with AVX-512 that multiply tiles of bf16 (AMX).
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
#pragma clang attribute push(                                                                 \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,amx-tile,amx-bf16"))), \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,amx-tile,amx-bf16")
#endif

namespace foreshard::executor {
namespace {

constexpr std::string_view kName = "amx";
constexpr int kWidth = 16, kTileRows = 12, kTileVectors = 2;

// All eight tiles have 16 rows of 64 bytes.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);
constexpr TileShapes kTileShapes;

#define FORESHARD_TILES_BEGIN() _tile_loadconfig(&kTileShapes)
#define FORESHARD_TILES_END() _tile_release()
#define FORESHARD_TILE_ZERO(tile) _tile_zero(tile)
// g++'s intrinsic is not marked as reading memory: what was packed must be there before.
#define FORESHARD_TILE_LOAD(tile, address, row_bytes) \
  do {                                                \
    __asm__ volatile("" ::: "memory");                \
    _tile_loadd(tile, address, row_bytes);            \
  } while (false)
#define FORESHARD_TILE_STORE(tile, address, row_bytes) _tile_stored(tile, address, row_bytes)
#define FORESHARD_TILE_DOT(sums, left, right) _tile_dpbf16ps(sums, left, right)

// clang-format off
#include "executor/cpu/simd/masked_parts.inl"
#include "executor/cpu/simd/kernels.inl"
// clang-format on

}  // namespace

const SimdKernels& amx_kernels() {
  return kKernels;
}

}  // namespace foreshard::executor

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
