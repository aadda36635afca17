#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "executor/cpu/simd/bfloat16.hpp"
#include "executor/cpu/simd/table.hpp"

namespace foreshard::executor {
namespace {

constexpr std::string_view kName = "sixteen_lanes";
constexpr int kWidth = 16, kTileRows = 12, kTileVectors = 2;

#include "executor/cpu/simd/kernels.inl"

}  // namespace

const SimdKernels& sixteen_lane_kernels();
const SimdKernels& sixteen_lane_kernels() {
  return kKernels;
}

}  // namespace foreshard::executor
