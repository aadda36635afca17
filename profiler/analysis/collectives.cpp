#include "profiler/analysis/collectives.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/base/statistics.hpp"
#include "traces/input/bounded_sum.hpp"
#include "traces/intervals.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;
using traces::Event;
using traces::EventKind;
using traces::EventPointer;
using traces::Interval;

struct RankIntervals {
  std::vector<Interval> compute;
  std::vector<EventPointer> collectives;
};

std::int32_t rank_of(const traces::Trace& trace, const Event& e) {
  return trace.lanes[static_cast<std::size_t>(e.lane)].rank;
}

}  // namespace

std::vector<CollectiveCost> collective_costs(const traces::Trace& trace) {
  std::map<std::int32_t, RankIntervals> ranks;
  for (auto at = trace.events.begin(); at != trace.events.end(); ++at) {
    const Event e = *at;
    if (e.kind == EventKind::compute) {
      ranks[rank_of(trace, e)].compute.push_back({e.start_ns, e.end_ns});
    } else if (e.kind == EventKind::communication) {
      ranks[rank_of(trace, e)].collectives.push_back(at);
    }
  }
  std::map<std::tuple<traces::StringId, traces::StringId>, CollectiveCost> costs;
  for (auto& [rank, intervals] : ranks) {
    const auto compute = united(std::move(intervals.compute));
    std::stable_sort(intervals.collectives.begin(), intervals.collectives.end(),
                     [](const auto& a, const auto& b) { return a->start_ns < b->start_ns; });
    std::int64_t counted_until = std::numeric_limits<std::int64_t>::min();
    std::size_t next = 0;  // first compute interval that is not over
    for (const EventPointer e : intervals.collectives) {
      CollectiveCost& cost = costs[{e->name, e->unit}];
      ++cost.count;
      cost.bytes = bounded_sum(cost.bytes, e->bytes);
      cost.total_ns = bounded_sum(cost.total_ns, e->end_ns - e->start_ns);
      const std::int64_t begin = std::max(e->start_ns, counted_until);
      if (begin >= e->end_ns) continue;
      counted_until = e->end_ns;
      std::int64_t exposed = e->end_ns - begin;
      while (next < compute.size() && compute[next].end_ns <= begin) ++next;
      for (std::size_t k = next; k < compute.size() && compute[k].start_ns < e->end_ns; ++k) {
        exposed -= std::min(compute[k].end_ns, e->end_ns) - std::max(compute[k].start_ns, begin);
      }
      cost.exposed_ns = bounded_sum(cost.exposed_ns, exposed);
    }
  }
  std::vector<CollectiveCost> result;
  for (auto& [key, cost] : costs) {
    cost.name = trace.strings[std::get<0>(key)];
    cost.unit = trace.strings[std::get<1>(key)];
    result.push_back(std::move(cost));
  }
  std::sort(result.begin(), result.end(), [](const CollectiveCost& a, const CollectiveCost& b) {
    return std::tie(b.exposed_ns, a.name, a.unit) < std::tie(a.exposed_ns, b.name, b.unit);
  });
  return result;
}

std::vector<RankWaits> rank_waits(const traces::Trace& trace) {
  std::set<std::int32_t> ranks;
  for (const traces::Lane& lane : trace.lanes) ranks.insert(lane.rank);
  if (ranks.size() < 2) return {};

  // The same collective on different ranks has the same key.
  using Key = std::tuple<std::int32_t, std::string, std::int64_t>;  // step, what, which of them
  std::vector<EventPointer> collectives;
  for (auto at = trace.events.begin(); at != trace.events.end(); ++at) {
    if (at->kind == EventKind::communication) collectives.push_back(at);
  }
  std::stable_sort(collectives.begin(), collectives.end(),
                   [](const auto& a, const auto& b) { return a->start_ns < b->start_ns; });
  std::map<Key, std::map<std::int32_t, std::int64_t>> durations;
  std::map<std::tuple<std::int32_t, std::int32_t, traces::StringId>, std::int64_t> seen;
  for (const EventPointer e : collectives) {
    const std::int32_t rank = rank_of(trace, *e);
    const traces::StringId what = e->stable_key != 0 ? e->stable_key : e->name;
    const std::int64_t ordinal = seen[{rank, e->step, what}]++;
    durations[{e->step, trace.strings[what], ordinal}][rank] = e->end_ns - e->start_ns;
  }

  std::map<std::int32_t, RankWaits> waits;
  std::map<std::int32_t, std::vector<std::int64_t>> lags;
  for (const auto& [key, by_rank] : durations) {
    if (by_rank.size() != ranks.size()) continue;
    const auto shorter = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto last = std::min_element(by_rank.begin(), by_rank.end(), shorter);
    const auto first = std::max_element(by_rank.begin(), by_rank.end(), shorter);
    for (const auto& [rank, ns] : by_rank) {
      RankWaits& one = waits[rank];
      one.rank = rank;
      ++one.collectives;
      one.waited_ns = bounded_sum(one.waited_ns, ns - last->second);
      lags[rank].push_back(first->second - ns);
    }
    if (first->second > last->second) ++waits[last->first].arrived_last;
  }
  std::vector<RankWaits> result;
  for (auto& [rank, one] : waits) {
    one.median_lag_ns = median(std::move(lags[rank]));
    result.push_back(one);
  }
  return result;
}

}  // namespace foreshard::profiler
