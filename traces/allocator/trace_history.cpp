#include "traces/allocator/trace_history.hpp"

#include <algorithm>
#include <set>

#include "models/plan/plan.hpp"
#include "traces/metadata.hpp"

namespace foreshard::traces {
namespace {

AllocatorAction action_of(MemoryAction action, bool is_expandable) {
  switch (action) {
    case MemoryAction::alloc: return AllocatorAction::alloc;
    case MemoryAction::free_requested: return AllocatorAction::free_requested;
    case MemoryAction::free_completed: return AllocatorAction::free_completed;
    case MemoryAction::segment_alloc:
      return is_expandable ? AllocatorAction::segment_map : AllocatorAction::segment_alloc;
    case MemoryAction::segment_free:
      return is_expandable ? AllocatorAction::segment_unmap : AllocatorAction::segment_free;
    default: return AllocatorAction::oom;
  }
}

}  // namespace

std::vector<int> ranks_with_memory(const Trace& trace) {
  std::set<int> ranks;
  for (const MemoryEvent& event : trace.memory) {
    if (!event.on_host && !is_outside(event.action)) ranks.insert(event.rank);
  }
  return {ranks.begin(), ranks.end()};
}

Result<AllocatorHistory> history_of(const Trace& trace, int rank, const std::string& file) {
  const auto plan_toml = trace.metadata.find("plan");
  const bool has_plan = plan_toml != trace.metadata.end() && !plan_toml->second.empty();
  if (!has_plan && !trace.metadata.contains("programs")) {
    return fail(file, "",
                "is a trace without the allocator's segments from the start of the run; expected a "
                "trace written by foreshard train or predict, a CUDA memory snapshot or an "
                "allocation history");
  }
  AllocatorHistory history;
  if (has_plan) {
    const auto plan = parse_plan(plan_toml->second, file + ": plan");
    if (!plan) return tl::unexpected(plan.error());
    history.rules = plan->allocator;
  }
  std::vector<RecordedStream> streams;
  for (const MemoryEvent& event : trace.memory) {
    if (event.on_host || event.rank != rank || is_outside(event.action)) continue;
    HistoryEvent out;
    out.action = action_of(event.action, history.rules.expandable_segments);
    out.address = event.address;
    const bool is_segment = reserves(out.action) || releases(out.action);
    out.bytes = is_segment || event.requested == 0 ? event.bytes : event.requested;
    history.events.push_back(out);
    streams.push_back({{}, event.lane});
  }
  number_streams(history, {}, streams, false);
  history.capacity = recorded_capacity(history);
  return history;
}

}  // namespace foreshard::traces
