// How much of its GPUs this process uses beyond what its ranks' allocators hold.
//
// The driver's account of the process is the best answer. Where there is none (in a container NVML
// may know the process by another number), it is how much the whole GPU's use has grown, and what
// other processes take or give back meanwhile counts.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "executor/device/gpu_memory_meter.hpp"

namespace foreshard::executor::cuda {

// Of GPUs, each with the ranks of this process that it has. Made before any of them has a context,
// so that the context can be measured too.
std::unique_ptr<GpuMemoryMeter> make_memory_meter(const std::map<int, std::vector<int>>& ranks);

}  // namespace foreshard::executor::cuda
