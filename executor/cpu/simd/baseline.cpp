// The inner loops for any processor the program was built for: SSE2 on x86-64, NEON on aarch64.
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "executor/cpu/simd/bfloat16.hpp"
#include "executor/cpu/simd/instruction_sets.hpp"
#include "executor/cpu/simd/table.hpp"

namespace foreshard::executor {
namespace {

constexpr std::string_view kName = "baseline";
constexpr int kWidth = 4, kTileRows = 6, kTileVectors = 2;

#include "executor/cpu/simd/kernels.inl"

}  // namespace

const SimdKernels& baseline_kernels() {
  return kKernels;
}

}  // namespace foreshard::executor
