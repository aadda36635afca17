#include "profiler/replay/memory_growth.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "profiler/analysis/memory.hpp"
#include "profiler/replay/memory_holders.hpp"
#include "traces/input/bounded_sum.hpp"
#include "traces/memory_tally.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;
using traces::MemoryEvent;
using traces::MemoryEventSpan;
using traces::Trace;

using Requester = std::tuple<std::string, std::string, std::string>;

// Category, stack and, without one, the owner.
Requester requester(const Trace& trace, const MemoryEvent& block) {
  const std::string& stack = trace.strings[block.stack];
  return {trace.strings[block.category], stack, stack.empty() ? trace.strings[block.owner] : ""};
}

// Adds what a rank holds after its last event; returns the bytes of all.
std::int64_t add_held(const Trace& trace, MemoryEventSpan events, HeldBlocks HolderGrowth::*side,
                      std::map<Requester, HolderGrowth>& holders) {
  traces::MemoryTally tally;
  for (auto at = events.begin(); at != events.end(); ++at) tally.apply(at);
  std::int64_t sum = 0;
  for (const auto& [address, made] : tally.device_blocks()) {
    const MemoryEvent block = *made;
    const std::string& owner = trace.strings[block.owner];
    const auto [found, is_new] = holders.try_emplace(requester(trace, block));
    HolderGrowth& holder = found->second;
    if (is_new) {
      holder.category = trace.strings[block.category];
      holder.owner = owner;
      holder.stack = trace.strings[block.stack];
    } else if (holder.owner != owner) {
      holder.owner = role_of(owner);
    }
    HeldBlocks& held = holder.*side;
    ++held.blocks;
    held.bytes = bounded_sum(held.bytes, block.bytes);
    sum = bounded_sum(sum, block.bytes);
  }
  return sum;
}

}  // namespace

std::vector<RankGrowth> memory_growth(const Trace& baseline, const Trace& candidate) {
  std::vector<RankGrowth> growth;
  const auto before = by_rank(baseline);
  for (const auto& [rank, events] : by_rank(candidate)) {
    const auto its = before.find(rank);
    if (its == before.end()) continue;
    RankGrowth& one = growth.emplace_back();
    one.rank = rank;
    std::map<Requester, HolderGrowth> holders;
    one.baseline_bytes = add_held(baseline, its->second, &HolderGrowth::baseline, holders);
    one.candidate_bytes = add_held(candidate, events, &HolderGrowth::candidate, holders);
    for (auto& [key, holder] : holders) {
      if (holder.bytes() != 0) one.holders.push_back(std::move(holder));
    }
    std::stable_sort(
        one.holders.begin(), one.holders.end(),
        [](const HolderGrowth& a, const HolderGrowth& b) { return a.bytes() > b.bytes(); });
  }
  return growth;
}

}  // namespace foreshard::profiler
