#include "profiler/analysis/memory.hpp"

#include <algorithm>

#include "traces/input/bounded_sum.hpp"
#include "traces/memory_tally.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;
using traces::MemoryEvent;
using traces::MemoryEventPointer;
using traces::MemoryEventSpan;
using traces::MemoryLevels;
using traces::MemoryTally;

// What holds the memory that is allocated after the first `count` events.
void describe(const traces::Trace& trace, MemoryEventSpan events, std::size_t count,
              MemoryPeak& peak) {
  MemoryTally replay;
  for (std::size_t i = 0; i < count; ++i) replay.apply(events.pointer_to(i));
  std::map<traces::StringId, std::int64_t> categories;
  std::map<traces::StringId, Owner> owners;
  const auto add = [&](traces::StringId category, traces::StringId owner, std::int64_t bytes,
                       std::int64_t blocks) {
    categories[category] = bounded_sum(categories[category], bytes);
    owners[owner].bytes = bounded_sum(owners[owner].bytes, bytes);
    owners[owner].blocks += blocks;
  };
  for (const auto& [address, block] : replay.device_blocks()) {
    // Of what was there before a recording often only the category is known.
    const bool has_owner = block->owner != 0;
    add(block->category, has_owner ? block->owner : block->category, block->bytes, 1);
  }
  for (const auto& [category, unplaced] : replay.unplaced()) {
    if (unplaced.bytes != 0) add(category, category, unplaced.bytes, unplaced.blocks);
  }
  const auto text = [&](traces::StringId id) {
    return id == 0 ? std::string(kUnknown) : trace.strings[id];
  };
  for (const auto& [id, bytes] : categories) peak.by_category[text(id)] = bytes;
  for (auto& [id, owner] : owners) {
    owner.name = text(id);
    peak.owners.push_back(std::move(owner));
  }
  std::sort(peak.owners.begin(), peak.owners.end(), [](const Owner& a, const Owner& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
}

}  // namespace

std::map<std::int32_t, MemoryEventSpan> by_rank(const traces::Trace& trace) {
  std::map<std::int32_t, MemoryEventSpan> ranks;
  for (std::size_t first = 0; first < trace.memory.size();) {
    std::size_t last = first;
    while (last < trace.memory.size() && trace.memory[last].rank == trace.memory[first].rank)
      ++last;
    ranks.emplace(trace.memory[first].rank,
                  MemoryEventSpan(trace.memory).subspan(first, last - first));
    first = last;
  }
  return ranks;
}

MemoryHistory replay_memory(const traces::Trace& trace, MemoryEventSpan events,
                            const traces::Interval& span) {
  MemoryHistory history;
  MemoryPeak& peak = history.peak;
  MemoryTally replay;
  MemoryTimelineBuilder timeline(span);
  const auto rise = [](StepPeak& step, const MemoryLevels& levels) {
    step.allocated_bytes = std::max(step.allocated_bytes, levels.allocated);
    step.reserved_bytes = std::max(step.reserved_bytes, levels.reserved);
    step.host_bytes = std::max(step.host_bytes, levels.host);
  };
  std::size_t peak_count = 0;
  std::int32_t step = -1;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const MemoryEventPointer at = events.pointer_to(i);
    const MemoryEvent e = *at;
    if (e.step != step) {
      step = e.step;
      rise(history.steps[step], replay.levels());  // a step begins with what the last one left
    }
    if (!replay.apply(at)) ++history.unmatched;
    const MemoryLevels& now = replay.levels();
    if (e.action == traces::MemoryAction::out_of_memory && !history.ran_out) {
      history.ran_out = OomReport{e.step,
                                  e.rank,
                                  e.instruction,
                                  "",
                                  "",
                                  trace.strings[e.phase],
                                  {e.bytes, now.allocated, now.reserved}};
    }
    if (now.allocated > peak.allocated_bytes) {
      peak.allocated_bytes = now.allocated;
      peak.reserved_then_bytes = now.reserved;
      peak.time_ns = e.time_ns;
      peak.step = e.step;
      peak.phase = trace.strings[e.phase];
      peak_count = i + 1;
    }
    peak.reserved_bytes = std::max(peak.reserved_bytes, now.reserved);
    peak.host_bytes = std::max(peak.host_bytes, now.host);
    peak.outside_bytes = std::max(peak.outside_bytes, now.outside);
    rise(history.steps[step], now);
    timeline.add(e.time_ns, now);
  }
  if (!events.empty()) history.timeline = timeline.build();
  describe(trace, events, peak_count, peak);
  return history;
}

}  // namespace foreshard::profiler
