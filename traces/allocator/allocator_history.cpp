#include "traces/allocator/allocator_history.hpp"

#include <algorithm>

#include "traces/input/bounded_sum.hpp"

namespace foreshard::traces {

void number_streams(AllocatorHistory& history, const std::vector<RecordedStream>& of_segments,
                    const std::vector<RecordedStream>& of_events, bool events_name_pools) {
  std::vector<RecordedStream> all = of_segments;
  all.insert(all.end(), of_events.begin(), of_events.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto rank = [&](const RecordedStream& stream) {
    return static_cast<int>(std::lower_bound(all.begin(), all.end(), stream) - all.begin());
  };
  for (std::size_t i = 0; i < of_segments.size(); ++i)
    history.start[i].stream = rank(of_segments[i]);
  for (std::size_t i = 0; i < of_events.size(); ++i) history.events[i].stream = rank(of_events[i]);

  for (std::size_t i = 0; i < all.size(); ++i) {
    history.streams.push_back(all[i].stream);
    if (!all[i].pool.is_private()) continue;
    if (i == 0 || all[i - 1].pool != all[i].pool) {
      history.pool_ids.push_back(all[i].pool);
      history.private_pools.push_back(
          {.first_stream = static_cast<int>(i),
           .releases_cache = events_name_pools && all[i].pool.graph_id == 0});
    }
    ++history.private_pools.back().streams;
  }
  const auto pool_of = [&](const RecordedStream& stream) {
    const auto& ids = history.pool_ids;
    return static_cast<std::size_t>(std::lower_bound(ids.begin(), ids.end(), stream.pool) -
                                    ids.begin());
  };
  // Ordinary segments while others are expandable: the pool has a driver of its own.
  const auto see_segment = [&](const RecordedStream& stream, bool expandable) {
    if (!stream.pool.is_private() || !history.rules.expandable_segments) return;
    history.private_pools[pool_of(stream)].expandable &= expandable;
  };
  for (std::size_t i = 0; i < of_segments.size(); ++i) {
    see_segment(of_segments[i], history.start[i].expandable);
  }
  for (std::size_t i = 0; i < of_events.size(); ++i) {
    HistoryEvent& event = history.events[i];
    if (is_external_event(event.action) && of_events[i].pool.is_private()) {
      event.pool = pool_of(of_events[i]);
    } else if (reserves(event.action)) {
      see_segment(of_events[i], event.action == AllocatorAction::segment_map);
    }
  }
}

RecordedFigures recorded_figures(const AllocatorHistory& history) {
  RecordedFigures figures;
  std::int64_t reserved = 0;
  for (const SegmentState& segment : history.start) {
    reserved = bounded_sum(reserved, segment.bytes);
  }
  figures.peak_reserved = reserved;
  for (const HistoryEvent& event : history.events) {
    if (reserves(event.action)) {
      reserved = bounded_sum(reserved, event.bytes);
      ++figures.segments_allocated;
    } else if (releases(event.action)) {
      reserved = bounded_sum(reserved, -event.bytes);
      ++figures.segments_released;
    }
    figures.allocations += event.action == AllocatorAction::alloc;
    figures.out_of_memory += event.action == AllocatorAction::oom;
    figures.peak_reserved = std::max(figures.peak_reserved, reserved);
  }
  return figures;
}

std::optional<std::int64_t> recorded_capacity(const AllocatorHistory& history) {
  std::int64_t reserved = 0;
  for (const SegmentState& segment : history.start) {
    reserved = bounded_sum(reserved, segment.bytes);
  }
  std::optional<std::int64_t> capacity;
  bool was_full = false, has_sizes = true;
  for (const HistoryEvent& event : history.events) {
    const bool is_new = reserves(event.action);
    reserved = bounded_sum(reserved, is_new                   ? event.bytes
                                     : releases(event.action) ? -event.bytes
                                                              : 0);
    has_sizes &= !is_new || event.bytes > 0;
    was_full |= event.action == AllocatorAction::device_full;
    if (event.action != AllocatorAction::oom) continue;
    // A device with enough free memory did not refuse the segment: the limit is one of the process
    // (torch.cuda.set_per_process_memory_fraction), and the device's free memory is unrelated to it.
    const std::int64_t too_much = AllocatorRules::segment_size(
        history.rules.round_size(std::max<std::int64_t>(event.bytes, 1)));
    const std::int64_t room = event.device_free < 0 ? std::max<std::int64_t>(event.bytes, 1) - 1
                                                    : std::min(event.device_free, too_much - 1);
    capacity = std::min(capacity.value_or(AllocatorRules::kUnlimited), bounded_sum(reserved, room));
  }
  if (!capacity && !(was_full && has_sizes)) return std::nullopt;
  return std::max(capacity.value_or(0), recorded_figures(history).peak_reserved);
}

}  // namespace foreshard::traces
