// The devices of a run whose ranks are all threads of this process.
#pragma once

#include <memory>
#include <vector>

#include "executor/cpu/cpu_device.hpp"

namespace foreshard::executor {

class CpuDevices {
 public:
  explicit CpuDevices(RunControl& run) {
    for (int rank = 0; rank < run.ranks(); ++rank) {
      owned_.push_back(std::make_unique<CpuDevice>(run, rank, fsdp2_streams()));
      all_.push_back(owned_.back().get());
    }
  }
  // None goes while another may still read its buffers.
  ~CpuDevices() {
    for (auto& device : owned_) device->stop();
  }

  CpuDevice& operator[](int rank) { return *owned_[static_cast<std::size_t>(rank)]; }
  std::span<Device* const> all() const { return all_; }

 private:
  std::vector<std::unique_ptr<CpuDevice>> owned_;
  std::vector<Device*> all_;
};

}  // namespace foreshard::executor
