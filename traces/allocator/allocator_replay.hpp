// Replay of a recorded allocation history: its requests, frees and empty_cache calls are served by
// our caching allocator, which chooses every block, every new segment's size, every release and
// every failure itself, under the recorded settings or others.
//
// The only inputs are those from outside the allocator: the state at the start, the requests in
// order, the address the driver assigned to each new segment, and when the driver refused one. Where
// other settings lead to segments that were not recorded, addresses are invented.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/allocator/caching_allocator.hpp"
#include "models/base/error.hpp"
#include "traces/allocator/allocator_history.hpp"

namespace foreshard::traces {

struct ReplayOptions {
  std::optional<AllocatorRules> rules;  // instead of the recorded ones
  std::int64_t capacity = AllocatorRules::kUnlimited;
  // The recorded driver's refusals (device_full) answer the recorded requests. Under other settings
  // or on another device the capacity alone decides.
  bool honor_recorded_oom = true;
  std::size_t events = SIZE_MAX;  // replays so many at most
};

// What the allocator decided for the request that is event `index` of the history.
struct ReplayDecision {
  enum class Kind : std::uint8_t { address, segment, release, out_of_memory };
  std::size_t index = 0;
  Kind kind = Kind::address;
  std::int64_t value = 0;  // an address, or the bytes of a segment or mapping
  bool operator==(const ReplayDecision&) const = default;
};

struct ReplayResult {
  AllocatorStatistics statistics;
  std::int64_t addresses_equal = 0, addresses_total = 0;  // of allocs that succeeded when recorded
  std::vector<ReplayDecision> decisions;
  std::vector<OutOfMemory> failures;
  std::vector<SegmentState> end;
  std::size_t peak_event = 0;  // at which reserved memory first reached its peak
};

Result<ReplayResult> replay(const AllocatorHistory& history, const ReplayOptions& options);

}  // namespace foreshard::traces
