#include "traces/snapshot/history_snapshot.hpp"

#include <string>
#include <unordered_map>
#include <utility>

#include "traces/snapshot/allocation_cause.hpp"
#include "traces/snapshot/fsdp_unit_tracker.hpp"
#include "traces/snapshot/history.hpp"
#include "traces/snapshot/label_frames.hpp"

namespace foreshard::traces {

Snapshot snapshot_of(const LabelledHistory& labelled) {
  const AllocatorHistory& history = labelled.history;
  Snapshot snapshot;
  snapshot.texts.emplace_back();
  snapshot.rules = history.rules;
  LabelFrames frames(snapshot, labelled.texts);
  const auto recorded = [&](int stream) {
    return history.streams[static_cast<std::size_t>(stream)];
  };
  std::unordered_map<Address, StackId> requested;  // by the block's address
  auto& events = snapshot.devices.emplace_back();
  for (std::size_t n = 0; n < history.events.size(); ++n) {
    const HistoryEvent& from = history.events[n];
    if (is_external_event(from.action)) continue;
    SnapshotEvent event;
    event.action = from.action;
    event.address = from.address;
    event.bytes = from.bytes;
    event.stream = recorded(from.stream);
    event.time_us = labelled.labels[n].time_us;
    event.device_free = from.device_free;
    event.stack = frames.stack_of(labelled.labels[n]);
    events.push_back(event);
    if (event.action == AllocatorAction::alloc) requested[event.address] = event.stack;
  }
  for (const SegmentState& from : labelled.end) {
    SnapshotSegment segment;
    segment.address = from.address;
    segment.bytes = from.bytes;
    segment.stream = recorded(from.stream);
    segment.small = from.small;
    segment.expandable = from.expandable;
    for (const SegmentState::Part& part : from.blocks) {
      const bool is_free = part.use == SegmentState::Use::free;
      const auto request = is_free ? requested.end() : requested.find(part.address);
      segment.blocks.push_back({part.address, part.bytes, part.requested, part.use,
                                request == requested.end() ? -1 : request->second});
    }
    snapshot.segments.push_back(std::move(segment));
  }
  return snapshot;
}

LabelledHistory labelled_history_of(const Snapshot& snapshot, int device) {
  SnapshotHistory found = history_of(snapshot, device);
  LabelledHistory labelled;
  labelled.history = std::move(found.history);
  for (const std::int64_t stream : labelled.history.streams) {
    labelled.streams.push_back(std::to_string(stream));
  }
  AllocationCauses causes(snapshot);
  FsdpUnitTracker units(snapshot, device);
  std::vector<std::optional<EventLabels>> of_stacks(snapshot.stacks.size());
  const auto labels_of_stack = [&](StackId stack) {
    auto& known = of_stacks[static_cast<std::size_t>(stack)];
    if (!known) known = labels_of(snapshot, snapshot.stack(stack), labelled.texts);
    if (!known) {
      const AllocationCause& cause = causes.of(stack);
      known.emplace();
      known->category = labelled.texts.intern(cause.category);
      known->phase = labelled.texts.intern(cause.phase);
      known->op = labelled.texts.intern(cause.role);
    }
    return *known;
  };
  for (const std::int64_t index : found.event_of) {
    EventLabels labels;
    if (index >= 0) {
      const SnapshotEvent& event =
          snapshot.devices[static_cast<std::size_t>(device)][static_cast<std::size_t>(index)];
      units.advance(event.time_us);
      if (event.stack >= 0) labels = labels_of_stack(event.stack);
      if (labels.module == 0) labels.module = labelled.texts.intern(units.current());
      labels.time_us = event.time_us;
    }
    labelled.labels.push_back(labels);
  }
  return labelled;
}

}  // namespace foreshard::traces
