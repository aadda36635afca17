// Memory of devices outside the caching allocator: what libraries such as NCCL and cuDNN take of
// them, as memory events of the ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "profiler/record/cupti/device_allocations.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::profiler {

// Of the thread that writes the file.
class OutsideMemory {
 public:
  // Of which rank an event is, by any of its lanes, and during which instruction it happened.
  struct Place {
    std::int32_t lane = 0;
    std::int32_t step = 0;
    std::int32_t instruction = traces::kNone;
    traces::StringId phase = 0;
  };

  // An allocation, or what a pool did, in the order of time. Without a place it belongs to the rank
  // of its device, once that is known.
  void take(const Activity& activity, const std::optional<Place>& place);
  // Appends what has a place by now; `place_of`: that of a device.
  void write(traces::FstWriter& writer, std::int64_t origin_ns,
             const std::function<std::optional<Place>(std::uint32_t)>& place_of);

 private:
  struct Change {
    MemoryChange change;
    std::int64_t time_ns = 0;
    std::uint32_t device = 0;
    std::optional<Place> place;
  };
  std::int32_t attributes_of(const Change& change, traces::FstWriter& writer);

  DeviceAllocations allocations_;
  std::vector<Change> changes_;
  std::map<std::tuple<bool, std::int32_t, traces::StringId>, std::int32_t> numbers_;
  std::vector<traces::PackedRecord> batch_;
};

}  // namespace foreshard::profiler
