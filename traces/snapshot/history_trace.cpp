#include "traces/snapshot/history_trace.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "traces/metadata.hpp"
#include "traces/snapshot/allocation_cause.hpp"
#include "traces/snapshot/recorded_blocks.hpp"

namespace foreshard::traces {
namespace {

std::optional<MemoryAction> memory_action(AllocatorAction action) {
  switch (action) {
    case AllocatorAction::alloc: return MemoryAction::alloc;
    case AllocatorAction::free_requested: return MemoryAction::free_requested;
    case AllocatorAction::free_completed: return MemoryAction::free_completed;
    case AllocatorAction::segment_alloc:
    case AllocatorAction::segment_map: return MemoryAction::segment_alloc;
    case AllocatorAction::segment_free:
    case AllocatorAction::segment_unmap: return MemoryAction::segment_free;
    case AllocatorAction::oom: return MemoryAction::out_of_memory;
    default: return std::nullopt;  // from outside the allocator
  }
}

// Segments with what is in use, as they were when the recording began.
StartState start_of(const LabelledHistory& labelled) {
  StartState start;
  for (const SegmentState& from : labelled.history.start) {
    SnapshotSegment segment;
    segment.address = from.address;
    segment.bytes = from.bytes;
    segment.stream = from.stream;
    segment.small = from.small;
    segment.expandable = from.expandable;
    for (const SegmentState::Part& part : from.blocks) {
      segment.blocks.push_back({part.address, part.bytes, part.requested, part.use, -1});
    }
    start.segments.push_back(std::move(segment));
  }
  return start;
}

class HistoryTrace {
 public:
  explicit HistoryTrace(const LabelledHistory& labelled)
      : labelled_(labelled),
        start_(start_of(labelled)),
        blocks_(labelled.history.rules, start_),
        has_times_(std::any_of(labelled.labels.begin(), labelled.labels.end(),
                               [](const EventLabels& labels) { return labels.time_us > 0; })) {}

  Trace run(const std::string& path) {
    for (const std::string& stream : labelled_.streams) {
      const bool is_number = stream.find_first_not_of("0123456789") == std::string::npos;
      trace_.lanes.push_back({0, true, text(is_number ? "stream " + stream : stream)});
    }
    for (const SnapshotSegment& segment : start_.segments) take_over(segment);
    for (std::size_t n = 0; n < labelled_.history.events.size(); ++n) take(n);
    for (const auto& [step, span] : steps_) {
      trace_.steps.push_back({0, step, span.first, span.second, 0, 0});
    }
    describe(path);
    sort(trace_);
    return std::move(trace_);
  }

 private:
  StringId text(std::string_view text) { return trace_.strings.intern(text); }
  StringId label(StringId id) { return text(labelled_.texts[id]); }

  std::int64_t time_of(std::size_t n) const {
    const auto event = static_cast<std::int64_t>(n);
    if (!has_times_) return event * 1000;
    return (labelled_.labels[n].time_us - labelled_.labels.front().time_us) * 1000;
  }

  void take_over(const SnapshotSegment& segment) {
    MemoryEvent event;
    event.action = MemoryAction::segment_alloc;
    event.address = segment.address;
    event.bytes = event.requested = segment.bytes;
    event.lane = static_cast<std::int32_t>(segment.stream);
    trace_.memory.push_back(event);
    for (const SnapshotBlock& block : segment.blocks) {
      if (block.use == SegmentState::Use::free) continue;
      event.action = MemoryAction::alloc;
      event.address = block.address;
      event.bytes = block.bytes;
      event.requested = block.requested;
      event.category = text(kBeforeRecording);
      allocated_[event.address] = trace_.memory.size();
      trace_.memory.push_back(event);
      if (block.use != SegmentState::Use::awaiting_free) continue;
      event.action = MemoryAction::free_requested;
      trace_.memory.push_back(event);
    }
  }

  void take(std::size_t n) {
    const HistoryEvent& from = labelled_.history.events[n];
    const EventLabels& labels = labelled_.labels[n];
    const auto action = memory_action(from.action);
    if (!action) return;
    SnapshotEvent recorded;
    recorded.action = from.action;
    recorded.address = from.address;
    recorded.bytes = from.bytes;
    recorded.stream = from.stream;
    MemoryEvent event;
    event.time_ns = time_of(n);
    event.action = *action;
    event.address = from.address;
    event.requested = from.bytes;
    event.bytes = blocks_.apply(recorded);
    event.lane = from.stream;
    if (event.bytes == 0) {
      ++trace_.dropped["memory events that fit no segment or block"];
      return;
    }
    event.step = step_ = std::max(step_, labels.step);
    event.instruction = labels.instruction;
    event.phase = label(labels.phase);
    event.category = labels.category == 0 ? text(kUnattributed) : label(labels.category);
    event.owner = label(labels.owner);
    if (event.action == MemoryAction::alloc) allocated_[event.address] = trace_.memory.size();
    take_owner_of_block(event);
    note_step(event);
    trace_.complete_until_ns = std::max(trace_.complete_until_ns, event.time_ns);
    trace_.memory.push_back(event);
  }

  void take_owner_of_block(MemoryEvent& event) {
    const bool is_free = event.action == MemoryAction::free_requested ||
                         event.action == MemoryAction::free_completed;
    const auto block = is_free ? allocated_.find(event.address) : allocated_.end();
    if (block == allocated_.end()) return;
    event.category = trace_.memory[block->second].category;
    event.owner = trace_.memory[block->second].owner;
  }

  void note_step(const MemoryEvent& event) {
    if (event.step < 1) return;
    auto& span = steps_.try_emplace(event.step, event.time_ns, event.time_ns).first->second;
    span.second = std::max(span.second, event.time_ns);
  }

  void describe(const std::string& path) {
    // Only programs that we lowered have instructions.
    const bool is_predicted =
        std::any_of(labelled_.labels.begin(), labelled_.labels.end(),
                    [](const EventLabels& labels) { return labels.instruction >= 0; });
    RunDescription run;
    run.predicted = is_predicted;
    run.more = {{"source", "event_list"}, {"files", path}, {"clock", ""},
                {"cpu_model", ""},        {"cores", ""},   {"threads_per_rank", ""}};
    trace_.metadata = run_metadata(run);
  }

  const LabelledHistory& labelled_;
  StartState start_;
  RecordedBlocks blocks_;
  bool has_times_;
  Trace trace_;
  std::int32_t step_ = 0;
  std::unordered_map<Address, std::size_t> allocated_;  // the event that made each block
  std::map<std::int32_t, std::pair<std::int64_t, std::int64_t>> steps_;  // from, to
};

}  // namespace

Trace trace_of(const LabelledHistory& history, const std::string& path) {
  return HistoryTrace(history).run(path);
}

Result<Trace> import_event_list(const std::string& path, const ImportOptions& options) {
  const auto history = read_labelled_history(path, options);
  if (!history) return tl::unexpected(history.error());
  return trace_of(*history, path);
}

}  // namespace foreshard::traces
