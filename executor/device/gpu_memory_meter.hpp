// Looks, at moments of a run, how much memory of its GPUs the process uses that no rank's allocator
// holds.
#pragma once

#include <vector>

#include "models/program/gpu_memory.hpp"

namespace foreshard::executor {

// In their order.
enum class MemoryMoment {
  begin,       // a context is there, and made if need be; no rank has a device
  opened,      // the ranks have their devices, with the libraries that those use
  connected,   // and communicators
  first_step,  // all ranks have done a step
  end,         // and the last; the allocators hold what they did then
};

class GpuMemoryMeter {
 public:
  virtual ~GpuMemoryMeter() = default;

  // By any thread, each moment once and in order; those that never come are left out. Throws
  // std::runtime_error where the device does not answer.
  virtual void look(MemoryMoment moment) = 0;

  // Of every GPU of this process, as far as it has been looked at.
  virtual std::vector<GpuMemory> seen() const = 0;
};

}  // namespace foreshard::executor
