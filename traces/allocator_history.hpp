// A recorded history of PyTorch's caching allocator, as JSON lines (plain or gzip).
//
// The first line is a header: the allocator's settings and the segments that existed when the
// recording began. Every further line is one event, in the words of PyTorch's memory snapshot:
// alloc, free_requested, free_completed, segment_alloc, segment_free, segment_map, segment_unmap,
// oom; and two that come from outside the allocator: empty_cache (the program asked for it) and
// device_full (the driver refused the next segment). Streams are numbered here in the order of
// their recorded values, which is the order PyTorch keeps them in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "models/allocator_rules.hpp"
#include "models/caching_allocator.hpp"
#include "models/error.hpp"

namespace foreshard::traces {

struct HistoryEvent {
  enum class Action : std::uint8_t {
    alloc,
    free_requested,
    free_completed,
    segment_alloc,
    segment_free,
    segment_map,
    segment_unmap,
    oom,
    empty_cache,
    device_full
  };
  Action action = Action::alloc;
  int stream = 0;          // index into AllocatorHistory::streams
  Address address = 0;     // of an alloc or a free: only the name by which a free finds its alloc
  std::int64_t bytes = 0;  // as requested, or real bytes of a segment
};

struct AllocatorHistory {
  AllocatorRules rules;
  std::vector<SegmentState> start;
  std::vector<HistoryEvent> events;
  std::vector<std::int64_t> streams;  // recorded values, ascending
};

Result<AllocatorHistory> read_allocator_history(const std::filesystem::path& file);

}  // namespace foreshard::traces
