#include "models/lowering/operators/pytorch/row_sum.hpp"

#include <algorithm>
#include <bit>

#include "models/lowering/operators/pytorch/eager_writer.hpp"
#include "models/sharding/cuda_device.hpp"

namespace foreshard::lowering {

// aten/src/ATen/native/cuda/Reduce.cuh, setReduceConfig: the reduced dimension is not contiguous.
RowSumScratch row_sum_scratch(std::int64_t rows, std::int64_t columns, const DeviceTraits& device) {
  const std::int64_t vector = columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1;
  const std::int64_t most = 512 / vector;
  const auto power = [most](std::int64_t n) {
    if (n >= most) return most;
    return std::min(most, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n))));
  };
  std::int64_t width = std::min<std::int64_t>(power(columns / vector), 32);
  const std::int64_t height = std::min(power(rows), most / width);
  width = std::min(power(columns / vector), most / height);
  if (rows < 16 * height && rows < 256) return {};
  const std::int64_t per_thread = ceil_div(rows, height), grid = ceil_div(columns / vector, width);
  const std::int64_t room =
      device.multiprocessors * (threads_of_multiprocessor(device) / (width * height));
  if (per_thread < 256 || grid > room) return {};
  const std::int64_t parts =
      std::max(std::min(ceil_div(room, grid), ceil_div(per_thread, 16)), ceil_div(per_thread, 256));
  if (parts <= 1) return {};
  return {4 * columns * parts * width * vector, 4 * grid};
}

}  // namespace foreshard::lowering
