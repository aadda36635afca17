#include "traces/snapshot/history.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "traces/input/bounded_sum.hpp"
#include "traces/snapshot/start_state.hpp"

namespace foreshard::traces {
namespace {

using Action = AllocatorAction;
using Events = std::vector<SnapshotEvent>;

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
      reserved = bounded_sum(reserved, reserves(event.action)   ? event.bytes
                                       : releases(event.action) ? -event.bytes
                                                                : 0);
      reserved_.push_back(reserved);
    }
    most_reserved_ = *std::max_element(reserved_.begin(), reserved_.end());
    for (std::size_t i = 0; i < events_->size(); ++i) {
      const SnapshotEvent& event = (*events_)[i];
      const RecordedStream stream{pool_id(event.pool), event.stream};
      if (!is_among_the_first(stream)) {
        ++result_.left_out;
        continue;
      }
      if (releases(event.action) && (i == 0 || !releases((*events_)[i - 1].action))) infer(i);
      HistoryEvent out;
      out.action = event.action;
      out.address = event.address;
      out.bytes = event.bytes;
      out.device_free = event.device_free;
      push(out, stream, static_cast<std::int64_t>(i));
    }
    number_streams(result_.history, segment_streams_, event_streams_, snapshot_.events_name_pools);
    result_.history.capacity = recorded_capacity(result_.history);
    return std::move(result_);
  }

 private:
  PoolId pool_id(PoolIndex pool) const { return snapshot_.pools[static_cast<std::size_t>(pool)]; }

  bool is_among_the_first(const RecordedStream& stream) {
    if (streams_.size() < kMaxStreams) streams_.insert(stream);
    return streams_.contains(stream);
  }

  void push(const HistoryEvent& event, const RecordedStream& stream, std::int64_t index) {
    result_.history.events.push_back(event);
    event_streams_.push_back(stream);
    result_.event_of.push_back(index);
  }

  void take(const SnapshotSegment& segment) {
    const RecordedStream stream{pool_id(segment.pool), segment.stream};
    if (!is_among_the_first(stream)) {
      ++result_.left_out;
      return;
    }
    // Only a damaged file has a range that is not a whole number of granules.
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
    segment_streams_.push_back(stream);
  }

  // What led to the run of releases that begins here.
  void infer(std::size_t first) {
    std::set<PoolIndex> pools;
    std::size_t next = first;
    for (; next < events_->size() && releases((*events_)[next].action); ++next) {
      pools.insert((*events_)[next].pool);
    }
    for (const PoolIndex pool : pools) {
      if (pool != 0 && released_.insert(pool).second) push_from_outside(Action::release_pool, pool);
    }
    const bool has_next = next < events_->size();
    if (has_next && (*events_)[next].action == Action::oom) return;
    const bool is_of_one_private = pools.size() == 1 && *pools.begin() != 0;
    if (has_next && reserves((*events_)[next].action) && !is_of_one_private) {
      const bool was_seen_to_fit =
          bounded_sum(reserved_[first], (*events_)[next].bytes) <= most_reserved_;
      const bool is_emptied = empties_cache(snapshot_, (*events_)[first]).value_or(was_seen_to_fit);
      if (!is_emptied) return push_from_outside(Action::device_full, 0);
    }
    push_from_outside(Action::empty_cache, is_of_one_private ? *pools.begin() : 0);
  }

  void push_from_outside(Action action, PoolIndex pool) {
    const RecordedStream stream{pool_id(pool), 0};
    if (!is_among_the_first(stream)) return;
    HistoryEvent event;
    event.action = action;
    push(event, stream, -1);
  }

  const Snapshot& snapshot_;
  const Events* events_ = nullptr;
  std::set<RecordedStream> streams_ = {RecordedStream{}};  // of the history
  std::set<PoolIndex> released_;                           // private pools without users
  std::vector<std::int64_t> reserved_;                     // before each event, and after the last
  std::int64_t most_reserved_ = 0;
  std::vector<RecordedStream> segment_streams_, event_streams_;
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

std::pair<bool, std::size_t> device_weight(const Snapshot& snapshot, int device) {
  const auto index = static_cast<std::size_t>(device);
  if (index >= snapshot.devices.size()) return {false, 0};
  const auto& events = snapshot.devices[index];
  const bool ran_out = std::any_of(events.begin(), events.end(),
                                   [](const auto& e) { return e.action == AllocatorAction::oom; });
  return {ran_out, events.size()};
}

std::optional<int> busiest_device(const Snapshot& snapshot) {
  const std::vector<int> devices = recorded_devices(snapshot);
  if (devices.empty()) return std::nullopt;
  return *std::max_element(devices.begin(), devices.end(), [&](int a, int b) {
    return device_weight(snapshot, a) < device_weight(snapshot, b);
  });
}

SnapshotHistory history_of(const Snapshot& snapshot, int device) {
  return Conversion(snapshot, device).run();
}

}  // namespace foreshard::traces
