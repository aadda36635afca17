// A device that has less memory than anybody declared: its driver refuses what exceeds it.
#pragma once

#include "executor/cpu/cpu_device.hpp"

namespace foreshard::executor {

class RefusingDevice final : public CpuDevice {
 public:
  RefusingDevice(RunControl& run, int rank, std::span<const StreamInfo> streams, int threads,
                 std::int64_t bytes)
      : CpuDevice(run, rank, streams, threads), limited_(CpuDevice::backing(), bytes) {}

  SegmentBacking& backing() override { return limited_; }

 private:
  class Limited final : public SegmentBacking {
   public:
    Limited(SegmentBacking& all, std::int64_t bytes) : all_(all), left_(bytes) {}

    bool commit(Address address, std::int64_t bytes) override {
      if (bytes > left_ || !all_.commit(address, bytes)) return false;
      left_ -= bytes;
      return true;
    }
    void decommit(Address address, std::int64_t bytes) override {
      all_.decommit(address, bytes);
      left_ += bytes;
    }
    bool begin_range(AddressRange range, std::int64_t granule) override {
      return all_.begin_range(range, granule);
    }
    void end_range(AddressRange range) override { all_.end_range(range); }

   private:
    SegmentBacking& all_;
    std::int64_t left_;
  };

  Limited limited_;
};

}  // namespace foreshard::executor
