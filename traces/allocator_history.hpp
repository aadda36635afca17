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
#include <optional>
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
  std::int64_t device_free = -1;  // of an oom: what the device had left, where it is known
};

struct AllocatorHistory {
  AllocatorRules rules;
  std::vector<SegmentState> start;
  std::vector<HistoryEvent> events;
  std::vector<std::int64_t> streams;  // recorded values, ascending
  // What the device had for this allocator, where the recording tells: recorded_capacity().
  std::optional<std::int64_t> capacity;
};

// Whether a file, plain or gzip, begins as JSON lines do; a snapshot's pickle does not.
Result<bool> is_json_lines(const std::filesystem::path& file);

Result<AllocatorHistory> read_allocator_history(const std::filesystem::path& file);

// Replaces recorded streams, noted in reading order, by their ranks.
void number_streams(AllocatorHistory& history, const std::vector<std::int64_t>& of_segments,
                    const std::vector<std::int64_t>& of_events);

// What the recording itself says, without a replay.
struct RecordedFigures {
  std::int64_t peak_reserved = 0;
  std::int64_t segments_allocated = 0, segments_released = 0;  // mappings too
  std::int64_t allocations = 0, out_of_memory = 0;
};
RecordedFigures recorded_figures(const AllocatorHistory& history);

// The device's capacity as an out-of-memory shows it: what was reserved after everything unused had
// been released, and what was free then. Where the free memory was not recorded, it was less than
// the request. After mere refusals (device_full) the most that was ever reserved, unless the list
// keeps the sizes of segments to itself.
std::optional<std::int64_t> recorded_capacity(const AllocatorHistory& history);

}  // namespace foreshard::traces
