#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/base/figures.hpp"
#include "traces/import.hpp"
#include "traces/meaning/annotations.hpp"
#include "traces/metadata.hpp"
#include "traces/snapshot/allocation_cause.hpp"
#include "traces/snapshot/fsdp_unit_tracker.hpp"
#include "traces/snapshot/history.hpp"
#include "traces/snapshot/parameter_sizes.hpp"
#include "traces/snapshot/rank_files.hpp"
#include "traces/snapshot/recorded_blocks.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::traces {
namespace {

using Action = AllocatorAction;

// Stacks that share their frames in the file do not in the trace.
constexpr std::size_t kMaxStackText = std::size_t{256} << 20;

// A process's snapshot, and the ranks of those of its devices that are read.
struct RankSnapshot {
  const Snapshot* snapshot = nullptr;
  std::map<std::int32_t, std::int32_t> ranks;  // by device
};

std::int64_t clamped_ns(std::int64_t us) {
  return std::min(us, std::numeric_limits<std::int64_t>::max() / 1000) * 1000;
}

// The earliest moment of all.
std::int64_t origin_of(const std::vector<RankSnapshot>& all) {
  std::optional<std::int64_t> first;
  for (const RankSnapshot& one : all) {
    for (const auto& events : one.snapshot->devices) {
      for (const auto& e : events) first = std::min(first.value_or(e.time_us), e.time_us);
    }
    for (const auto& a : one.snapshot->annotations) {
      first = std::min(first.value_or(a.time_us), a.time_us);
    }
  }
  return first.value_or(0);
}

// Adds what one snapshot recorded to a trace.
class SnapshotImport {
 public:
  SnapshotImport(const RankSnapshot& of, std::int64_t origin_us, const ImportOptions& options,
                 Trace& trace)
      : snapshot_(*of.snapshot),
        ranks_(of.ranks),
        options_(options),
        origin_us_(origin_us),
        trace_(trace),
        attributions_(snapshot_),
        labels_(snapshot_.stacks.size()) {}

  // Until when the recording goes.
  std::int64_t run() {
    for (const auto& [reason, records] : snapshot_.dropped) trace_.dropped[reason] += records;
    for (const auto& [device, rank] : ranks_) read_device(device, rank);
    read_annotations();
    return until_ns_;
  }

 private:
  struct Labels {
    const AllocationCause* attribution = nullptr;
    StringId category = 0, phase = 0, stack = 0;
  };

  std::int64_t since_origin(std::int64_t time_us) const { return clamped_ns(time_us - origin_us_); }

  std::int32_t lane(int rank, bool device, const std::string& name) {
    const auto [at, is_new] = lanes_.try_emplace({rank, device, name}, 0);
    if (is_new) {
      at->second = static_cast<std::int32_t>(trace_.lanes.size());
      trace_.lanes.push_back({rank, device, trace_.strings.intern(name)});
    }
    return at->second;
  }
  std::int32_t stream_lane(int rank, std::int64_t stream) {
    return lane(rank, true,
                stream == 0 ? "stream 0"
                            : formatted("stream 0x%llx", static_cast<unsigned long long>(stream)));
  }

  const Labels& labels(StackId stack) {
    auto& known = labels_[static_cast<std::size_t>(stack)];
    if (known) return *known;
    const AllocationCause& found = attributions_.of(stack);
    known =
        Labels{&found, trace_.strings.intern(found.category), trace_.strings.intern(found.phase)};
    if (!options_.keeps_stacks) return *known;
    const std::string text = stack_text(snapshot_, snapshot_.stack(stack));
    if (stack_text_ + text.size() > kMaxStackText) {
      ++trace_.dropped["stacks beyond 256 MiB of text"];
    } else {
      stack_text_ += text.size();
      known->stack = trace_.strings.intern(text);
    }
    return *known;
  }

  void attribute_by_stack(MemoryEvent& event, StackId stack, const std::string& unit) {
    if (stack < 0) {
      event.category = trace_.strings.intern(kUnattributed);
      return;
    }
    const Labels& known = labels(stack);
    event.category = known.category;
    event.phase = known.phase;
    event.stack = known.stack;
    const std::string& role = known.attribution->role;
    event.owner = trace_.strings.intern(unit.empty()   ? role
                                        : role.empty() ? unit
                                                       : unit + ": " + role);
  }

  void read_device(int device, int rank) {
    const StartState start = start_state(snapshot_, device);
    live_.clear();
    backward_.clear();
    const ParameterSizes sizes(snapshot_, device, start, attributions_);
    for (const SnapshotSegment& segment : start.segments) {
      MemoryEvent event;
      event.rank = rank;
      event.action = MemoryAction::segment_alloc;
      event.address = segment.address;
      event.bytes = event.requested = segment.bytes;
      event.lane = stream_lane(rank, segment.stream);
      trace_.memory.push_back(event);
      for (const SnapshotBlock& block : segment.blocks) {
        if (block.use != SegmentState::Use::free) take_over(block, event, sizes);
      }
    }
    const auto index = static_cast<std::size_t>(device);
    if (index >= snapshot_.devices.size()) return;
    RecordedBlocks blocks(snapshot_.rules, start);
    FsdpUnitTracker units(snapshot_, device);
    for (const SnapshotEvent& recorded : snapshot_.devices[index]) {
      units.advance(recorded.time_us);
      read_event(rank, recorded, blocks, units);
    }
  }

  // A block that was there when the recording began.
  void take_over(const SnapshotBlock& block, const MemoryEvent& segment,
                 const ParameterSizes& sizes) {
    MemoryEvent event = segment;
    event.action = MemoryAction::alloc;
    event.address = block.address;
    event.bytes = block.bytes;
    event.requested = block.requested;
    if (block.stack >= 0) {
      attribute_by_stack(event, block.stack, {});
    } else {
      event.category = trace_.strings.intern(sizes.category(block.requested));
      event.owner = trace_.strings.intern(sizes.owner(block.requested));
    }
    live_[event.address] = trace_.memory.size();
    trace_.memory.push_back(event);
    if (block.use != SegmentState::Use::awaiting_free) return;
    event.action = MemoryAction::free_requested;
    trace_.memory.push_back(event);
  }

  void read_event(int rank, const SnapshotEvent& recorded, RecordedBlocks& blocks,
                  const FsdpUnitTracker& units) {
    MemoryEvent event;
    event.rank = rank;
    event.time_ns = since_origin(recorded.time_us);
    event.address = recorded.address;
    event.requested = recorded.bytes;
    event.lane = stream_lane(rank, recorded.stream);
    event.bytes = blocks.apply(recorded);
    until_ns_ = std::max(until_ns_, event.time_ns);
    if (event.bytes == 0) {
      ++trace_.dropped["memory events that fit no segment or block"];
      return;
    }
    switch (recorded.action) {
      case Action::alloc:
        event.action = MemoryAction::alloc;
        attribute_by_stack(event, recorded.stack, units.current());
        note(event, recorded.stack);
        break;
      case Action::free_requested:
      case Action::free_completed: {
        event.action = recorded.action == Action::free_requested ? MemoryAction::free_requested
                                                                 : MemoryAction::free_completed;
        const auto block = live_.find(event.address);
        if (block == live_.end()) break;
        const MemoryEvent& allocated = trace_.memory[block->second];
        event.category = allocated.category;
        event.owner = allocated.owner;
        if (recorded.action == Action::free_completed) live_.erase(block);
        break;
      }
      case Action::segment_alloc:
      case Action::segment_map: event.action = MemoryAction::segment_alloc; break;
      case Action::segment_free:
      case Action::segment_unmap: event.action = MemoryAction::segment_free; break;
      case Action::oom:
        event.action = MemoryAction::out_of_memory;
        attribute_by_stack(event, recorded.stack, units.current());
        break;
      default: return;
    }
    trace_.memory.push_back(event);
  }

  // What the backward made and the optimizer still finds is a gradient.
  void note(const MemoryEvent& event, StackId stack) {
    live_[event.address] = trace_.memory.size();
    if (stack < 0) return;
    const std::string& phase = trace_.strings[event.phase];
    if (phase == "backward" && labels(stack).attribution->category == "temporaries") {
      backward_.push_back(trace_.memory.size());
    } else if (phase == "optimizer" && !backward_.empty()) {
      const StringId gradients = trace_.strings.intern("gradients");
      for (const std::size_t made : backward_) {
        const auto block = live_.find(trace_.memory[made].address);
        if (block != live_.end() && block->second == made) {
          trace_.memory.update(made, [&](MemoryEvent& found) { found.category = gradients; });
        }
      }
      backward_.clear();
    }
  }

  void read_annotations() {
    // Ranges of equal name nest; the innermost ends first.
    std::map<std::pair<std::int32_t, TextId>, std::vector<std::int64_t>> open;
    for (const SnapshotAnnotation& annotation : snapshot_.annotations) {
      if (!ranks_.contains(annotation.device)) continue;
      auto& starts = open[{annotation.device, annotation.name}];
      const std::int64_t now = since_origin(annotation.time_us);
      if (!annotation.is_end) {
        starts.push_back(now);
      } else if (starts.empty()) {
        ++trace_.dropped["annotations that began before the recording"];
      } else {
        add_range(annotation, starts.back(), now);
        starts.pop_back();
      }
    }
    for (const auto& [key, starts] : open) {
      if (!starts.empty()) {
        trace_.dropped["annotations that never ended"] += static_cast<std::int64_t>(starts.size());
      }
    }
  }

  void add_range(const SnapshotAnnotation& annotation, std::int64_t start, std::int64_t end) {
    const std::string& name = snapshot_.text(annotation.name);
    Event event;
    event.start_ns = start;
    event.end_ns = std::max(start, end);
    event.lane = lane(ranks_.at(annotation.device), false, "host");
    event.kind = EventKind::range;
    event.name = trace_.strings.intern(name);
    event.unit = trace_.strings.intern(annotation_of(name).unit);
    trace_.events.push_back(event);
    until_ns_ = std::max(until_ns_, event.end_ns);
  }

  const Snapshot& snapshot_;
  const std::map<std::int32_t, std::int32_t>& ranks_;
  const ImportOptions& options_;
  std::int64_t origin_us_, until_ns_ = 0;
  Trace& trace_;
  std::map<std::tuple<int, bool, std::string>, std::int32_t> lanes_;
  AllocationCauses attributions_;
  std::vector<std::optional<Labels>> labels_;  // by stack
  std::size_t stack_text_ = 0;
  std::unordered_map<Address, std::size_t> live_;  // the alloc event of each block
  std::vector<std::size_t> backward_;              // alloc events of the backward
};

Trace import_all(const std::vector<RankSnapshot>& all, const std::string& path,
                 const ImportOptions& options) {
  Trace trace;
  const std::int64_t origin_us = origin_of(all);
  RunDescription run;
  run.ranks = 0;
  run.more = {{"source", "snapshot"},
              {"files", path},
              {"allocator_settings", all.front().snapshot->settings},
              {"clock_origin_ns", std::to_string(clamped_ns(origin_us))},
              // A snapshot does not describe its machine, and this one is another.
              {"clock", ""},
              {"cpu_model", ""},
              {"cores", ""},
              {"threads_per_rank", ""}};
  for (const RankSnapshot& one : all) {
    const std::int64_t until = SnapshotImport(one, origin_us, options, trace).run();
    const std::string& trouble = one.snapshot->incomplete_reason;
    if (trouble.empty()) {
      if (trace.complete) trace.complete_until_ns = std::max(trace.complete_until_ns, until);
    } else {
      trace.complete_until_ns = trace.complete ? until : std::min(trace.complete_until_ns, until);
      trace.complete = false;
    }
    for (const auto& [device, rank] : one.ranks) {
      run.ranks = std::max(run.ranks, rank + 1);
      if (!trouble.empty()) run.more["trouble." + std::to_string(rank)] = trouble;
    }
  }
  trace.metadata = run_metadata(run);
  sort(trace);
  return trace;
}

Result<Trace> import_folder(const std::string& folder, const ImportOptions& options) {
  const auto files = rank_files(folder);
  if (!files) return tl::unexpected(files.error());
  std::vector<Snapshot> snapshots;
  snapshots.reserve(files->size());
  std::vector<RankSnapshot> all;
  for (const RankFile& file : *files) {
    auto snapshot = read_snapshot(file.path, options);
    if (!snapshot) return tl::unexpected(snapshot.error());
    if (options.stop.stop_requested()) return reading_stopped(file.path);
    const std::optional<int> device = busiest_device(*snapshot);
    if (!device) {
      return fail(file.path, "", "holds no segments and no events; expected a device's memory");
    }
    // A rank's process has a device of its own; what it holds of others is little.
    const auto others = static_cast<std::int64_t>(recorded_devices(*snapshot).size()) - 1;
    if (others > 0) snapshot->dropped["devices that a rank uses in addition to its own"] += others;
    snapshots.push_back(std::move(*snapshot));
    all.push_back({&snapshots.back(), {{*device, file.rank}}});
  }
  return import_all(all, folder, options);
}

}  // namespace

Result<Trace> import_snapshot(const std::string& path, const ImportOptions& options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return import_folder(path, options);
  const auto snapshot = read_snapshot(path, options);
  if (!snapshot) return tl::unexpected(snapshot.error());
  if (options.stop.stop_requested()) return reading_stopped(path);
  return import_snapshot(*snapshot, path, options);
}

Trace import_snapshot(const Snapshot& snapshot, const std::string& path,
                      const ImportOptions& options) {
  RankSnapshot all{&snapshot, {}};
  for (const int device : recorded_devices(snapshot)) all.ranks[device] = device;
  return import_all({all}, path, options);
}

}  // namespace foreshard::traces
