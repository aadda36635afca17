#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "executor/cpu/simd/bfloat16.hpp"
#include "executor/cpu/simd/table.hpp"

namespace foreshard::executor {
namespace {

constexpr std::string_view kName = "sixteen_lanes_pairs";
constexpr int kWidth = 16, kTileRows = 12, kTileVectors = 2;

// What the processor's instruction does: the products of the upper and the lower halves are added.
#define FORESHARD_ADD_PAIRS(sum, left, right) \
  ((sum) + upper_half(left) * upper_half(right) + lower_half(left) * lower_half(right))

typedef float WholeVector __attribute__((vector_size(kWidth * 4)));
typedef std::uint32_t WholeBits __attribute__((vector_size(kWidth * 4)));

inline __attribute__((always_inline)) WholeVector upper_half(WholeVector x) {
  return reinterpret_cast<WholeVector>(reinterpret_cast<WholeBits>(x) & 0xffff0000U);
}
inline __attribute__((always_inline)) WholeVector lower_half(WholeVector x) {
  return reinterpret_cast<WholeVector>(reinterpret_cast<WholeBits>(x) << 16);
}

#include "executor/cpu/simd/kernels.inl"

}  // namespace

const SimdKernels& sixteen_lane_pair_kernels();
const SimdKernels& sixteen_lane_pair_kernels() {
  return kKernels;
}

}  // namespace foreshard::executor
