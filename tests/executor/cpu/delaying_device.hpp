// A device whose streams stumble: before launches, copies, collectives and events they sleep at
// random, some streams often, some never, so that work which only happens to be in order elsewhere is
// not in order here. The host stumbles now and then, too.
#pragma once

#include <array>
#include <random>

#include "executor/cpu/cpu_device.hpp"

namespace foreshard::executor {

class DelayingDevice final : public CpuDevice {
 public:
  DelayingDevice(RunControl& run, int rank, std::span<const StreamInfo> streams, int threads,
                 unsigned seed)
      : CpuDevice(run, rank, streams, threads),
        random_(seed * 64 + static_cast<unsigned>(rank)),
        chances_(streams.size()) {
    for (double& chance : chances_) {
      chance =
          std::array{0.0, 0.02, 0.1}[std::uniform_int_distribution<std::size_t>(0, 2)(random_)];
    }
  }

  void call(Stream stream, Tag tag, const StreamTask& task) override {
    delay(stream);
    CpuDevice::call(stream, tag, task);
  }
  void record(Stream stream, EventId event, Tag tag) override {
    delay(stream);
    CpuDevice::record(stream, event, tag);
  }

 private:
  Nanoseconds any_time() {
    return Nanoseconds{std::uniform_int_distribution<std::int64_t>(1'000, 200'000)(random_)};
  }
  bool happens(double chance) { return std::bernoulli_distribution(chance)(random_); }
  void delay(Stream stream) {
    if (happens(0.005)) run().sleep_for(any_time());
    if (!happens(chances_[static_cast<std::size_t>(stream)])) return;
    CpuDevice::call(stream, kNoTag, [of = &run(), time = any_time()] { of->sleep_for(time); });
  }

  std::mt19937_64 random_;
  std::vector<double> chances_;  // of sleeping before what is issued on a stream
};

}  // namespace foreshard::executor
