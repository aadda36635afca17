#include "profiler/analysis/memory.hpp"

#include <algorithm>
#include <unordered_map>

#include "profiler/analysis/saturating.hpp"

namespace foreshard::profiler {
namespace {

using traces::MemoryAction;
using traces::MemoryEvent;

constexpr std::size_t kOwnersShown = 20;

// Which blocks are live after the first `count` events, by what they hold and for whom.
void describe(const traces::Trace& trace, std::span<const MemoryEvent> events, std::size_t count,
              MemoryPeak& peak) {
  std::unordered_map<std::int64_t, const MemoryEvent*> live;
  for (const MemoryEvent& e : events.first(count)) {
    if (e.on_host) continue;
    if (e.action == MemoryAction::alloc) live[e.address] = &e;
    if (e.action == MemoryAction::free_requested) live.erase(e.address);
  }
  std::map<traces::StringId, std::int64_t> categories;
  std::map<traces::StringId, Owner> owners;
  for (const auto& [address, block] : live) {
    auto& category = categories[block->category];
    category = saturating_sum(category, block->bytes);
    Owner& owner = owners[block->owner];
    owner.bytes = saturating_sum(owner.bytes, block->bytes);
    ++owner.blocks;
  }
  const auto text = [&](traces::StringId id) {
    return id == 0 ? std::string("unknown") : trace.strings[id];
  };
  for (const auto& [id, bytes] : categories) peak.by_category[text(id)] = bytes;
  for (auto& [id, owner] : owners) {
    owner.name = text(id);
    peak.owners.push_back(std::move(owner));
  }
  std::sort(peak.owners.begin(), peak.owners.end(), [](const Owner& a, const Owner& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
  if (peak.owners.size() > kOwnersShown) peak.owners.resize(kOwnersShown);
}

}  // namespace

std::map<std::int32_t, std::span<const MemoryEvent>> by_rank(const traces::Trace& trace) {
  std::map<std::int32_t, std::span<const MemoryEvent>> ranks;
  for (std::size_t first = 0; first < trace.memory.size();) {
    std::size_t last = first;
    while (last < trace.memory.size() && trace.memory[last].rank == trace.memory[first].rank)
      ++last;
    ranks.emplace(trace.memory[first].rank, std::span(trace.memory).subspan(first, last - first));
    first = last;
  }
  return ranks;
}

MemoryHistory replay_memory(const traces::Trace& trace, std::span<const MemoryEvent> events) {
  MemoryHistory history;
  MemoryPeak& peak = history.peak;
  std::unordered_map<std::int64_t, std::int64_t> device_blocks, host_blocks;  // address -> bytes
  std::int64_t allocated = 0, reserved = 0, host = 0;
  std::size_t peak_count = 0;
  std::int32_t step = -1;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const MemoryEvent& e = events[i];
    if (e.step != step) {
      step = e.step;
      StepPeak& start = history.steps[step];
      start.allocated_bytes = std::max(start.allocated_bytes, allocated);
      start.reserved_bytes = std::max(start.reserved_bytes, reserved);
    }
    auto& blocks = e.on_host ? host_blocks : device_blocks;
    std::int64_t& level = e.on_host ? host : allocated;
    switch (e.action) {
      case MemoryAction::alloc: {
        const auto [block, is_new] = blocks.try_emplace(e.address, 0);
        if (!is_new) ++history.unmatched;
        level = saturating_sum(level, e.bytes - block->second);
        block->second = e.bytes;
        break;
      }
      case MemoryAction::free_requested: {
        const auto block = blocks.find(e.address);
        if (block == blocks.end()) {
          ++history.unmatched;
          break;
        }
        level = saturating_sum(level, -block->second);
        blocks.erase(block);
        break;
      }
      case MemoryAction::segment_alloc: reserved = saturating_sum(reserved, e.bytes); break;
      case MemoryAction::segment_free: reserved = saturating_sum(reserved, -e.bytes); break;
      case MemoryAction::out_of_memory:
        if (!history.ran_out) {
          history.refused_bytes = e.bytes;
          history.allocated_then = allocated;
          history.reserved_then = reserved;
        }
        history.ran_out = true;
        break;
      case MemoryAction::free_completed:
      case MemoryAction::kCount: break;
    }
    if (allocated > peak.allocated_bytes) {
      peak.allocated_bytes = allocated;
      peak.time_ns = e.time_ns;
      peak.step = e.step;
      peak.phase = trace.strings[e.phase];
      peak_count = i + 1;
    }
    peak.reserved_bytes = std::max(peak.reserved_bytes, reserved);
    peak.host_bytes = std::max(peak.host_bytes, host);
    StepPeak& in_step = history.steps[step];
    in_step.allocated_bytes = std::max(in_step.allocated_bytes, allocated);
    in_step.reserved_bytes = std::max(in_step.reserved_bytes, reserved);
  }
  describe(trace, events, peak_count, peak);
  return history;
}

}  // namespace foreshard::profiler
