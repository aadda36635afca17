// Scratch of at::sum over the rows of a [rows, columns] tensor, where it reduces in global memory:
// gradients of norms' weights and of biases.
#pragma once

#include <cstdint>

#include "models/base/device_traits.hpp"

namespace foreshard::lowering {

struct RowSumScratch {
  std::int64_t partial = 0, semaphores = 0;  // bytes; 0: it needs none
};
RowSumScratch row_sum_scratch(std::int64_t rows, std::int64_t columns, const DeviceTraits& device);

}  // namespace foreshard::lowering
