#include "profiler/replay/memory_holders.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "traces/input/bounded_sum.hpp"
#include "traces/memory_tally.hpp"

namespace foreshard::profiler {
namespace {

using traces::AllocatorAction;
using traces::AllocatorHistory;
using traces::bounded_sum;
using traces::HistoryEvent;
using traces::MemoryAction;
using traces::MemoryEvent;
using traces::MemoryEventSpan;
using traces::MemoryTally;
using traces::StringId;
using traces::Trace;

MemoryEventSpan events_of(const Trace& trace, int rank) {
  const auto first = std::find_if(trace.memory.begin(), trace.memory.end(),
                                  [&](const MemoryEvent& e) { return e.rank == rank; });
  const auto last =
      std::find_if(first, trace.memory.end(), [&](const MemoryEvent& e) { return e.rank != rank; });
  return {first, last};
}

// The number of events up to the moment that matters.
std::size_t moment(MemoryEventSpan events) {
  MemoryTally replay;
  std::int64_t peak = -1;
  std::size_t at_peak = 0;
  std::size_t count = 0;
  for (auto at = events.begin(); at != events.end(); ++at) {
    ++count;
    if (at->action == MemoryAction::out_of_memory) return count;
    replay.apply(at);
    if (replay.levels().allocated <= peak) continue;
    peak = replay.levels().allocated;
    at_peak = count;
  }
  return at_peak;
}

bool is_gathered(const std::string& category) {
  return category == "all_gather" || category == "unsharded_parameters";
}

void add(HolderGroup& group, const MemoryEvent& block) {
  group.block_bytes = std::max(group.block_bytes, block.bytes);
  group.bytes = bounded_sum(group.bytes, block.bytes);
  ++group.blocks;
}

template <typename Groups>
std::vector<HolderGroup> by_size(const Groups& groups) {
  std::vector<HolderGroup> sorted;
  sorted.reserve(groups.size());
  for (const auto& [key, group] : groups) sorted.push_back(group);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const HolderGroup& a, const HolderGroup& b) { return a.bytes > b.bytes; });
  return sorted;
}

}  // namespace

std::string role_of(const std::string& owner) {
  const auto colon = owner.rfind(": ");
  return colon == std::string::npos ? owner : owner.substr(colon + 2);
}

MemoryHolders memory_holders(const Trace& trace, int rank) {
  const auto events = events_of(trace, rank);
  const std::size_t count = moment(events);
  MemoryHolders result;
  if (count == 0) return result;
  result.time_ns = events[count - 1].time_ns;
  MemoryTally replay;
  using Key = std::tuple<StringId, std::string, std::int64_t>;
  const auto key = [&](const MemoryEvent& e) {
    return Key{e.category, role_of(trace.strings[e.owner]), e.bytes};
  };
  std::map<Key, UnshardedGroup> gathered;
  const auto relevant = events.first(count);
  for (auto at = relevant.begin(); at != relevant.end(); ++at) {
    const MemoryEvent e = *at;
    if (e.action == MemoryAction::alloc && is_gathered(trace.strings[e.category])) {
      UnshardedGroup& group = gathered[key(e)];
      add(group.made, e);
      group.peak_live = std::max(group.peak_live, ++group.left);
    } else if (e.action == MemoryAction::free_requested) {
      const auto block = replay.device_blocks().find(e.address);
      const bool is_live = block != replay.device_blocks().end();
      if (is_live && is_gathered(trace.strings[block->second->category])) {
        --gathered[key(*block->second)].left;
      }
    } else if (e.action == MemoryAction::out_of_memory) {
      result.out_of_memory = true;
      result.requested = e.requested;
    }
    replay.apply(at);
  }
  std::map<StringId, HolderGroup> categories;
  std::map<Key, HolderGroup> groups;
  for (const auto& [address, block] : replay.device_blocks()) {
    result.allocated = bounded_sum(result.allocated, block->bytes);
    HolderGroup& category = categories[block->category];
    category.category = trace.strings[block->category];
    add(category, *block);
    HolderGroup& group = groups[key(*block)];
    group.category = category.category;
    group.role = std::get<1>(key(*block));
    add(group, *block);
  }
  result.categories = by_size(categories);
  result.groups = by_size(groups);
  for (auto& [of, group] : gathered) {
    group.made.category = trace.strings[std::get<0>(of)];
    group.made.role = std::get<1>(of);
    result.gathered.push_back(group);
  }
  std::stable_sort(result.gathered.begin(), result.gathered.end(),
                   [](const auto& a, const auto& b) { return a.made.bytes > b.made.bytes; });
  return result;
}

AllocatorHistory with_unsharded_freed(const AllocatorHistory& history, const Trace& trace,
                                      int rank) {
  MemoryTally replay;
  const auto events = events_of(trace, rank);
  for (auto at = events.begin(); at != events.end(); ++at) {
    if (at->action == MemoryAction::out_of_memory) break;
    replay.apply(at);
  }
  AllocatorHistory changed = history;
  const auto failure =
      std::find_if(changed.events.begin(), changed.events.end(),
                   [](const HistoryEvent& e) { return e.action == AllocatorAction::oom; });
  std::vector<HistoryEvent> frees;
  for (const auto& [address, block] : replay.device_blocks()) {
    if (!is_gathered(trace.strings[block->category])) continue;
    HistoryEvent free;
    free.action = AllocatorAction::free_completed;
    free.address = address;
    free.bytes = block->requested;
    frees.push_back(free);
  }
  std::sort(frees.begin(), frees.end(),
            [](const HistoryEvent& a, const HistoryEvent& b) { return a.address < b.address; });
  changed.events.insert(failure, frees.begin(), frees.end());
  return changed;
}

}  // namespace foreshard::profiler
