// Element types of tensors, by the names used in plan files and safetensors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace foreshard {

// fp16 and fp8 (either kind) occur in imported recordings only.
enum class DType : std::uint8_t { fp32, bf16, fp64, int32, fp16, fp8 };

constexpr std::array kDTypes{DType::fp32,  DType::bf16, DType::fp64,
                             DType::int32, DType::fp16, DType::fp8};

constexpr std::int64_t item_size(DType type) {
  switch (type) {
    case DType::bf16:
    case DType::fp16: return 2;
    case DType::fp64: return 8;
    case DType::fp8: return 1;
    default: return 4;
  }
}

constexpr std::string_view name(DType type) {
  constexpr std::string_view names[] = {"fp32", "bf16", "fp64", "int32", "fp16", "fp8"};
  return names[static_cast<int>(type)];
}

constexpr std::optional<DType> dtype_named(std::string_view word) {
  for (const DType type : kDTypes) {
    if (name(type) == word) return type;
  }
  return std::nullopt;
}

}  // namespace foreshard
