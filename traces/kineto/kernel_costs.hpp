// Gives kernels the cost keys of the operators that launched them.
//
// An operator may launch several kernels: all have its key, and only their sum is its cost. None has
// it where one of them is missing from the recording, or may be.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/kineto/collected.hpp"

namespace foreshard::traces::kineto {

struct LaunchedKernel {
  std::uint32_t owner = 0, kernel = 0;  // indices of events
  bool has_call = false;                // its launch is recorded
  auto operator<=>(const LaunchedKernel&) const = default;
};

// `calls`: owners of the calls that launch kernels, one of each call.
void share_costs(Collected& recording, std::vector<LaunchedKernel> kernels,
                 std::vector<std::uint32_t> calls);

}  // namespace foreshard::traces::kineto
