// How exactly matrix products of fp32 are computed, in the words of PyTorch's
// torch.set_float32_matmul_precision: with all bits of their operands, or with 10 bits of mantissa
// (TF32) on the tensor cores of GPUs. Sums are of fp32 either way, and other types are not
// concerned.
#pragma once

#include <string_view>

namespace foreshard::executor {

enum class MatmulPrecision { highest, high };

constexpr std::string_view name(MatmulPrecision precision) {
  return precision == MatmulPrecision::highest ? "highest" : "high";
}

}  // namespace foreshard::executor
