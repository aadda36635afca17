// A recorded history of PyTorch's caching allocator, as JSON lines (plain or gzip).
//
// The first line is a header: the allocator's settings and the segments that existed when the
// recording began. Every further line is one event, in the words of PyTorch's memory snapshot:
// alloc, free_requested, free_completed, segment_alloc, segment_free, segment_map, segment_unmap,
// oom; and three that come from outside the allocator: empty_cache (the program requested it),
// device_full (the driver refused the next segment) and release_pool (the last user of a private
// pool is gone).
//
// Streams are numbers; or names, where the header lists those of all streams under "streams". Such a
// header has any other members too, and events have labels (labelled_history.hpp).
//
// Streams are numbered here in the order of their recorded values, which is the order PyTorch keeps
// them in. A stream has one number for each pool it uses: those of the default pool come first, then
// those of each private pool (CUDA graphs, torch.cuda.MemPool), which segments name as
// segment_pool_id and events, since PyTorch 2.12, as pool_id.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/allocator/allocator_rules.hpp"
#include "models/allocator/caching_allocator.hpp"
#include "models/base/error.hpp"
#include "traces/allocator/allocator_action.hpp"

namespace foreshard::traces {

// {0, 0}: the default pool; {n, 0}: of one CUDA graph; {0, n}: a MemPool, which graphs may share.
struct PoolId {
  std::int64_t graph_id = 0, mempool_id = 0;
  auto operator<=>(const PoolId&) const = default;  // NOLINT(modernize-use-nullptr)
  bool is_private() const { return *this != PoolId{}; }
};

struct HistoryEvent {
  AllocatorAction action = AllocatorAction::alloc;
  int stream = 0;          // index into AllocatorHistory::streams
  Address address = 0;     // of an alloc or a free: only the name by which a free finds its alloc
  std::int64_t bytes = 0;  // as requested, or real bytes of a segment
  std::int64_t device_free = -1;  // of an oom: what the device had left, where it is known
  // Of release_pool, and of empty_cache where it is of one private pool alone: an index into
  // AllocatorHistory::private_pools.
  std::optional<std::size_t> pool = std::nullopt;
};

struct AllocatorHistory {
  AllocatorRules rules;
  std::vector<SegmentState> start;
  std::vector<HistoryEvent> events;
  std::vector<std::int64_t> streams;  // recorded values, ascending in each pool
  std::vector<PoolId> pool_ids;       // of private_pools, ascending
  std::vector<PrivatePool> private_pools;
  // What the device had for this allocator, where the recording shows it: recorded_capacity().
  std::optional<std::int64_t> capacity;
};

// Whether a file, plain or gzip, begins as JSON lines do; a snapshot's pickle does not.
Result<bool> is_json_lines(const std::filesystem::path& file);

Result<AllocatorHistory> read_allocator_history(const std::filesystem::path& file);
// The same from text. Errors name `file`.
Result<AllocatorHistory> parse_allocator_history(std::string_view text, const std::string& file);

// A stream as it was recorded, in a pool.
struct RecordedStream {
  PoolId pool;
  std::int64_t stream = 0;
  auto operator<=>(const RecordedStream&) const = default;  // NOLINT(modernize-use-nullptr)
};

constexpr std::size_t kMaxStreams = 1024;

// Numbers the recorded streams, noted in reading order, and describes the private pools.
// `events_name_pools`: by what is known of their PyTorch, a request to a MemPool that fails may have
// the cache released first, which before 2.12 none to a private pool did.
void number_streams(AllocatorHistory& history, const std::vector<RecordedStream>& of_segments,
                    const std::vector<RecordedStream>& of_events, bool events_name_pools);

// Figures of the recording itself, without a replay.
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
