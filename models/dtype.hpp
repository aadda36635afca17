// Element types of tensors, by the names used in plan files and safetensors.
#pragma once

#include <cstdint>
#include <string_view>

namespace foreshard {

enum class DType : std::uint8_t { fp32, bf16, fp64, int32 };

constexpr std::int64_t item_size(DType type) {
  switch (type) {
    case DType::bf16: return 2;
    case DType::fp64: return 8;
    default: return 4;
  }
}

constexpr std::string_view name(DType type) {
  constexpr std::string_view names[] = {"fp32", "bf16", "fp64", "int32"};
  return names[static_cast<int>(type)];
}

}  // namespace foreshard
