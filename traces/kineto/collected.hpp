// One recording's contents, before it is known which of its events belong together.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "traces/kineto/flow_links.hpp"
#include "traces/meaning/imported_events.hpp"

namespace foreshard::traces::kineto {

// An instant of the allocator. Absent values are kUnknown.
struct AllocatorInstant {
  static constexpr std::int64_t kUnknown = INT64_MIN;
  std::int64_t time_ns = 0;
  std::int64_t address = 0;
  std::int64_t bytes = 0;                                  // negative: freed
  std::int64_t allocated = kUnknown, reserved = kUnknown;  // after it
  std::int32_t lane = 0;
  std::int16_t device = -1;
  bool on_host = false;
  bool is_out_of_memory = false;
};

struct Collected : ImportedEvents {
  std::vector<AllocatorInstant> memory;
  std::vector<FlowEnd> flows;  // those that correlations do not make superfluous
  std::map<std::string, std::int64_t> dropped;
  std::vector<DroppedRange> dropped_ranges;
  std::vector<Counter> counters;  // without a rank
};

}  // namespace foreshard::traces::kineto
