// A device's memory, of which somebody is told before any of it goes back to the driver.
#pragma once

#include <functional>
#include <utility>

#include "models/allocator/virtual_segments.hpp"

namespace foreshard::executor {

class WatchedBacking final : public SegmentBacking {
 public:
  WatchedBacking(SegmentBacking& backing, std::function<void()> before_release)
      : backing_(backing), before_release_(std::move(before_release)) {}

  bool commit(Address address, std::int64_t bytes) override {
    return backing_.commit(address, bytes);
  }
  void decommit(Address address, std::int64_t bytes) override {
    before_release_();
    backing_.decommit(address, bytes);
  }
  bool begin_range(AddressRange range, std::int64_t granule) override {
    return backing_.begin_range(range, granule);
  }
  void end_range(AddressRange range) override { backing_.end_range(range); }

 private:
  SegmentBacking& backing_;
  const std::function<void()> before_release_;
};

}  // namespace foreshard::executor
