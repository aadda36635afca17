#include "executor/cuda/device/cuda_memory_meter.hpp"

#include <array>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "executor/cuda/device/held_memory.hpp"
#include "executor/cuda/kernels/check.hpp"
#include "executor/cuda/libraries/nvml.hpp"

namespace foreshard::executor::cuda {
namespace {

constexpr std::size_t kMoments = static_cast<std::size_t>(MemoryMoment::end) + 1;
constexpr int kAttempts = 20;
constexpr std::chrono::milliseconds kBetweenAttempts{1};

std::string bus_id(int gpu) {
  char text[32] = "";
  check(cudaDeviceGetPCIBusId(text, sizeof text, gpu), "cudaDeviceGetPCIBusId");
  return text;
}

// Of the runtime, which makes a context to answer.
struct DeviceUse {
  std::int64_t used, total;
};
DeviceUse use_of_device() {
  std::size_t left = 0, total = 0;
  check(cudaMemGetInfo(&left, &total), "cudaMemGetInfo");
  return {static_cast<std::int64_t>(total - left), static_cast<std::int64_t>(total)};
}

class GpuMeter {
 public:
  GpuMeter(int gpu, const std::vector<int>& ranks) : nvml_(bus_id(gpu)), before_(nvml_.used()) {
    memory_.gpu = gpu;
    memory_.ranks = ranks;
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties");
    memory_.name = properties.name;
  }

  // Leaves the moment out where allocators take and give back memory all the time.
  void look(MemoryMoment moment) {
    check(cudaSetDevice(memory_.gpu), "cudaSetDevice");
    const HeldMemory& held = held_memory(memory_.gpu);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const std::uint64_t changes = held.changes_begun;
      if (held.changes_ended == changes) {
        const DeviceUse device = use_of_device();
        if (moment == MemoryMoment::begin) choose_source(device);
        const auto used = used_here(device);
        const std::int64_t reserved = held.bytes;
        if (used && held.changes_begun == changes) return note(moment, device, *used, reserved);
      }
      std::this_thread::sleep_for(kBetweenAttempts);
    }
  }

  GpuMemory seen() const {
    GpuMemory memory = memory_;
    std::int64_t before = outside_[0].value_or(0);
    if (memory.source != GpuMemorySource::context) memory.context = before;
    const std::array parts{&memory.libraries, &memory.communicators, &memory.first_step,
                           &memory.later};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::int64_t then = outside_[i + 1].value_or(before);
      *parts[i] = then - before;
      before = then;
    }
    return memory;
  }

 private:
  void note(MemoryMoment moment, const DeviceUse& device, std::int64_t used,
            std::int64_t reserved) {
    memory_.total = device.total;
    memory_.reserved = reserved;
    outside_[static_cast<std::size_t>(moment)] = used - reserved;
  }

  void choose_source(const DeviceUse& device) {
    if (nvml_.used_by_this_process()) {
      memory_.source = GpuMemorySource::process;
    } else if (before_) {
      memory_.source = GpuMemorySource::device;
    } else {
      memory_.source = GpuMemorySource::context;
      before_ = device.used;
    }
  }

  // Since the source's own beginning.
  std::optional<std::int64_t> used_here(const DeviceUse& device) const {
    switch (memory_.source) {
      case GpuMemorySource::process: return nvml_.used_by_this_process();
      case GpuMemorySource::device: {
        const auto now = nvml_.used();
        return now ? std::optional(*now - *before_) : std::nullopt;
      }
      case GpuMemorySource::context: break;
    }
    return device.used - *before_;
  }

  const NvmlGpu nvml_;
  std::optional<std::int64_t> before_;  // used on the whole GPU
  GpuMemory memory_;
  std::array<std::optional<std::int64_t>, kMoments> outside_;  // the allocators, by moment
};

class CudaMemoryMeter final : public GpuMemoryMeter {
 public:
  explicit CudaMemoryMeter(const std::map<int, std::vector<int>>& ranks) {
    for (const auto& [gpu, here] : ranks) gpus_.emplace_back(gpu, here);
  }

  // On a thread of its own: which GPU is current is a thread's, and setting back one that had no
  // context would make it one.
  void look(MemoryMoment moment) override {
    std::async(std::launch::async, [this, moment] {
      const std::scoped_lock lock(mutex_);
      for (GpuMeter& gpu : gpus_) gpu.look(moment);
    }).get();
  }

  std::vector<GpuMemory> seen() const override {
    const std::scoped_lock lock(mutex_);
    std::vector<GpuMemory> all;
    for (const GpuMeter& gpu : gpus_) all.push_back(gpu.seen());
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<GpuMeter> gpus_;
};

}  // namespace

std::unique_ptr<GpuMemoryMeter> make_memory_meter(const std::map<int, std::vector<int>>& ranks) {
  return std::make_unique<CudaMemoryMeter>(ranks);
}

}  // namespace foreshard::executor::cuda
