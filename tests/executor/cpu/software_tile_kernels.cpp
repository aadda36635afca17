// The kernels of amx.cpp with tile operations in software, so that their logic is tested where no
// processor has them.
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "executor/cpu/simd/bfloat16.hpp"
#include "executor/cpu/simd/table.hpp"
#include "tests/executor/cpu/software_tiles.hpp"

namespace foreshard::executor {
namespace {

constexpr std::string_view kName = "software_tiles";
constexpr int kWidth = 16, kTileRows = 12, kTileVectors = 2;

#define FORESHARD_TILES_BEGIN() SoftwareTiles::of_this_thread().configure()
#define FORESHARD_TILES_END() SoftwareTiles::of_this_thread().release()
#define FORESHARD_TILE_ZERO(tile) SoftwareTiles::of_this_thread().zero(tile)
#define FORESHARD_TILE_LOAD(tile, address, row_bytes) \
  SoftwareTiles::of_this_thread().load(tile, address, row_bytes)
#define FORESHARD_TILE_STORE(tile, address, row_bytes) \
  SoftwareTiles::of_this_thread().store(tile, address, row_bytes)
#define FORESHARD_TILE_DOT(sums, left, right) SoftwareTiles::of_this_thread().dot(sums, left, right)

#include "executor/cpu/simd/kernels.inl"

}  // namespace

const SimdKernels& software_tile_kernels();
const SimdKernels& software_tile_kernels() {
  return kKernels;
}

}  // namespace foreshard::executor
