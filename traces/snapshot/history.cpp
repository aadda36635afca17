#include "traces/snapshot/history.hpp"

#include <algorithm>
#include <optional>

#include "traces/bounded_sum.hpp"
#include "traces/snapshot/recorded_segments.hpp"
#include "traces/snapshot/start_state.hpp"

namespace foreshard::traces {
namespace {

using Action = SnapshotEvent::Action;
using Events = std::vector<SnapshotEvent>;

bool releases(const SnapshotEvent& event) {
  return event.action == Action::segment_free || event.action == Action::segment_unmap;
}
bool reserves(const SnapshotEvent& event) {
  return event.action == Action::segment_alloc || event.action == Action::segment_map;
}

HistoryEvent::Action action_of(Action action) {
  using To = HistoryEvent::Action;
  switch (action) {
    case Action::alloc: return To::alloc;
    case Action::free_requested: return To::free_requested;
    case Action::free_completed: return To::free_completed;
    case Action::segment_alloc: return To::segment_alloc;
    case Action::segment_free: return To::segment_free;
    case Action::segment_map: return To::segment_map;
    case Action::segment_unmap: return To::segment_unmap;
    case Action::oom: return To::oom;
  }
  return To::alloc;
}

// Whether the stack passes the allocator's emptyCache rather than its malloc; nothing without one.
std::optional<bool> empties_cache(const Snapshot& snapshot, const SnapshotEvent& event) {
  if (event.stack < 0) return std::nullopt;
  for (const std::int32_t id : snapshot.stack(event.stack)) {
    const std::string& function = snapshot.text(snapshot.frame(id).function);
    if (function == "empty_cache" || function.find("emptyCache") != std::string::npos) return true;
  }
  return false;
}

class Conversion {
 public:
  Conversion(const Snapshot& snapshot, int device) : snapshot_(snapshot) {
    const auto index = static_cast<std::size_t>(device);
    static const Events kNoEvents;
    events_ = index < snapshot.devices.size() ? &snapshot.devices[index] : &kNoEvents;
    StartState start = start_state(snapshot, device);
    result_.misfits = start.misfits;
    for (const SnapshotSegment& segment : snapshot.segments) {
      if (segment.device == device && segment.in_private_pool) {
        private_.add(segment.address,
                     {segment.bytes, segment.stream, segment.small, segment.expandable, true});
      }
    }
    result_.history.rules = snapshot.rules;
    for (const SnapshotSegment& segment : start.segments) take(segment);
  }

  SnapshotHistory run() {
    std::int64_t reserved = 0;
    for (const auto& segment : result_.history.start) {
      reserved = bounded_sum(reserved, segment.bytes);
    }
    reserved_.push_back(reserved);
    for (const SnapshotEvent& event : *events_) {
      reserved = bounded_sum(reserved, reserves(event)   ? event.bytes
                                       : releases(event) ? -event.bytes
                                                         : 0);
      reserved_.push_back(reserved);
    }
    most_reserved_ = *std::max_element(reserved_.begin(), reserved_.end());
    for (std::size_t i = 0; i < events_->size(); ++i) {
      const SnapshotEvent& event = (*events_)[i];
      if (private_.find(event.address) != private_.end()) {
        ++result_.left_out;
        continue;
      }
      if (releases(event) && (i == 0 || !releases((*events_)[i - 1]))) infer(i);
      HistoryEvent out;
      out.action = action_of(event.action);
      out.address = event.address;
      out.bytes = event.bytes;
      out.device_free = event.device_free;
      push(out, event.stream, static_cast<std::int64_t>(i));
    }
    number_streams(result_.history, segment_streams_, event_streams_);
    result_.history.capacity = recorded_capacity(result_.history);
    return std::move(result_);
  }

 private:
  void push(const HistoryEvent& event, std::int64_t stream, std::int64_t index) {
    result_.history.events.push_back(event);
    event_streams_.push_back(stream);
    result_.event_of.push_back(index);
  }

  void take(const SnapshotSegment& segment) {
    if (segment.in_private_pool) {
      ++result_.left_out;
      return;
    }
    // Only a damaged file has a stretch that is no whole number of granules.
    if (segment.expandable && segment.bytes % AllocatorRules::granule(segment.small) != 0) {
      ++result_.misfits;
      return;
    }
    SegmentState state;
    state.address = segment.address;
    state.bytes = segment.bytes;
    state.small = segment.small;
    state.expandable = segment.expandable;
    for (const SnapshotBlock& block : segment.blocks) {
      state.blocks.push_back({block.address, block.bytes, block.requested, block.use});
    }
    result_.history.start.push_back(std::move(state));
    segment_streams_.push_back(segment.stream);
  }

  // Says what led to the run of releases that begins here.
  void infer(std::size_t first) {
    std::size_t next = first;
    while (next < events_->size() && releases((*events_)[next])) ++next;
    const bool has_next = next < events_->size();
    if (has_next && (*events_)[next].action == Action::oom) return;
    HistoryEvent inferred;
    inferred.action = HistoryEvent::Action::empty_cache;
    if (has_next && reserves((*events_)[next])) {
      const bool was_seen_to_fit =
          bounded_sum(reserved_[first], (*events_)[next].bytes) <= most_reserved_;
      const bool is_emptied = empties_cache(snapshot_, (*events_)[first]).value_or(was_seen_to_fit);
      if (!is_emptied) inferred.action = HistoryEvent::Action::device_full;
    }
    push(inferred, 0, -1);
  }

  const Snapshot& snapshot_;
  const Events* events_ = nullptr;
  RecordedSegments private_;
  std::vector<std::int64_t> reserved_;  // before each event, and after the last
  std::int64_t most_reserved_ = 0;
  std::vector<std::int64_t> segment_streams_, event_streams_;
  SnapshotHistory result_;
};

}  // namespace

std::vector<int> recorded_devices(const Snapshot& snapshot) {
  std::vector<int> devices;
  for (std::size_t i = 0; i < snapshot.devices.size(); ++i) {
    if (!snapshot.devices[i].empty()) devices.push_back(static_cast<int>(i));
  }
  for (const SnapshotSegment& segment : snapshot.segments) {
    if (std::find(devices.begin(), devices.end(), segment.device) == devices.end()) {
      devices.push_back(segment.device);
    }
  }
  return devices;
}

SnapshotHistory history_of(const Snapshot& snapshot, int device) {
  return Conversion(snapshot, device).run();
}

}  // namespace foreshard::traces
