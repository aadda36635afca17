// What tests of several CUDA devices share.
#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/cuda/device/cuda_device.hpp"

namespace foreshard::executor::cuda {

// How many GPUs the host's runtime has, for as long as this lives.
struct HostGpus {
  explicit HostGpus(int count) {
    setenv("FORESHARD_HOST_CUDA_DEVICES", std::to_string(count).c_str(), 1);
  }
  ~HostGpus() { unsetenv("FORESHARD_HOST_CUDA_DEVICES"); }
  HostGpus(const HostGpus&) = delete;
  HostGpus& operator=(const HostGpus&) = delete;
};

// The devices of a run, rank r on GPU r modulo `gpus`.
class CudaDevices {
 public:
  explicit CudaDevices(RunControl& run, int gpus = 1) {
    for (int rank = 0; rank < run.ranks(); ++rank) {
      owned_.push_back(std::make_unique<CudaDevice>(run, rank, rank % gpus, fsdp2_streams()));
      all_.push_back(owned_.back().get());
    }
  }
  // None goes while another may still read its buffers.
  ~CudaDevices() {
    for (auto& device : owned_) device->stop();
  }

  CudaDevice& operator[](int rank) { return *owned_[static_cast<std::size_t>(rank)]; }
  std::span<Device* const> all() const { return all_; }

 private:
  std::vector<std::unique_ptr<CudaDevice>> owned_;
  std::vector<Device*> all_;
};

// A stream that waits, with whatever is behind it, until it is let go on.
struct Gate {
  void close(Device& device, Stream stream) {
    device.call(stream, kNoTag, [this] { is_open.wait(false); });
  }
  void open() {
    is_open = true;
    is_open.notify_all();
  }
  std::atomic<bool> is_open{false};
};

}  // namespace foreshard::executor::cuda
