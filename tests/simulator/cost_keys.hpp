// Keys of costs whose operands have one type.
#pragma once

#include <array>
#include <cstdint>

#include "models/program/operators.hpp"

namespace foreshard::simulator {

inline CostKey key(Operator op, CostDims dims, DType type = DType::bf16) {
  return {op, type, type, type, dims};
}

inline CostKey matmul(std::int64_t t, std::int64_t n, std::int64_t k, DType type = DType::fp32) {
  return key(Operator::matmul, {t, n, k}, type);
}

}  // namespace foreshard::simulator
