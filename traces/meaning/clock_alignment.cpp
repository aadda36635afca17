#include "traces/meaning/clock_alignment.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "models/base/statistics.hpp"
#include "traces/meaning/collectives.hpp"

namespace foreshard::traces {
namespace {

constexpr std::int64_t kApart = 200'000;
constexpr std::size_t kLeastCollectives = 3;

using Pair = std::pair<std::int32_t, std::int32_t>;  // ranks, the lower one first

std::map<Pair, std::vector<std::int64_t>> differences_of_ends(const Trace& trace) {
  std::map<Pair, std::vector<std::int64_t>> differences;
  for (const Collective& collective : collectives(trace)) {
    const auto& [first, first_event] = *collective.events.begin();
    const std::int64_t end = trace.events[static_cast<std::size_t>(first_event)].end_ns;
    for (auto other = std::next(collective.events.begin()); other != collective.events.end();
         ++other) {
      differences[{first, other->first}].push_back(
          trace.events[static_cast<std::size_t>(other->second)].end_ns - end);
    }
  }
  return differences;
}

// The median where the middle half of them agrees.
std::optional<std::int64_t> agreed(std::vector<std::int64_t> values) {
  if (values.size() < kLeastCollectives) return {};
  std::sort(values.begin(), values.end());
  const std::int64_t spread = values[values.size() * 3 / 4] - values[values.size() / 4];
  const std::int64_t middle = median(std::move(values));
  if (spread > std::max(kApart / 2, std::abs(middle) / 4)) return {};
  return middle;
}

// Of each rank's clock against the lowest one's with which it has collectives in common, directly or not.
std::map<std::int32_t, std::int64_t> offsets_of(const Trace& trace) {
  std::map<std::int32_t, std::map<std::int32_t, std::int64_t>> apart;
  for (auto& [ranks, values] : differences_of_ends(trace)) {
    const auto by = agreed(std::move(values));
    if (!by) continue;
    apart[ranks.first][ranks.second] = *by;
    apart[ranks.second][ranks.first] = -*by;
  }
  std::map<std::int32_t, std::int64_t> offsets;
  for (const auto& [root, ignored] : apart) {
    if (!offsets.try_emplace(root, 0).second) continue;
    std::vector<std::int32_t> next{root};
    while (!next.empty()) {
      const std::int32_t rank = next.back();
      next.pop_back();
      for (const auto& [other, by] : apart[rank]) {
        if (offsets.try_emplace(other, offsets.at(rank) + by).second) next.push_back(other);
      }
    }
  }
  return offsets;
}

}  // namespace

std::map<std::int32_t, std::int64_t> align_clocks(Trace& trace) {
  std::map<std::int32_t, std::int64_t> moved;
  for (const auto& [rank, offset] : offsets_of(trace)) {
    if (std::abs(offset) > kApart) moved[rank] = -offset;
  }
  if (moved.empty()) return moved;
  // Nobody is moved to before the recording's beginning.
  std::int64_t least = 0;
  for (const auto& [rank, by] : moved) least = std::min(least, by);
  const auto shift = [&](std::int32_t rank) {
    const auto found = moved.find(rank);
    return (found == moved.end() ? 0 : found->second) - least;
  };
  trace.events.update_all([&](Event& event) {
    const std::int64_t by = shift(trace.lanes[static_cast<std::size_t>(event.lane)].rank);
    event.start_ns += by;
    event.end_ns += by;
  });
  trace.memory.update_all([&](MemoryEvent& event) { event.time_ns += shift(event.rank); });
  for (Step& step : trace.steps) {
    step.start_ns += shift(step.rank);
    step.end_ns += shift(step.rank);
  }
  for (DroppedRange& range : trace.dropped_ranges) {
    range.start_ns += shift(range.rank);
    range.end_ns += shift(range.rank);
  }
  for (Counter& counter : trace.counters) {
    for (CounterSample& sample : counter.samples) sample.time_ns += shift(counter.rank);
  }
  return moved;
}

}  // namespace foreshard::traces
