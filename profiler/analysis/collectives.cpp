#include "profiler/analysis/collectives.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/base/statistics.hpp"
#include "traces/collectives.hpp"
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

std::vector<GroupWaits> group_waits(const traces::Trace& trace) {
  std::set<std::int32_t> ranks;
  for (const traces::Lane& lane : trace.lanes) ranks.insert(lane.rank);
  std::map<traces::StringId, GroupWaits> groups;
  std::map<std::pair<traces::StringId, std::int32_t>, std::vector<std::int64_t>> lags;
  for (const traces::Collective& collective : traces::collectives(trace)) {
    GroupWaits& group = groups[collective.group];
    if (group.collectives++ == 0 && collective.group != 0) {
      const traces::ProcessGroup named = traces::process_group(trace.strings[collective.group]);
      group.name = named.name;
      group.ranks = named.ranks;
    }
    const std::size_t members = group.ranks.empty() ? ranks.size() : group.ranks.size();
    if (members < 2 || collective.events.size() != members) continue;
    const auto duration = [&](const auto& member) {
      const Event event = trace.events[static_cast<std::size_t>(member.second)];
      return event.end_ns - event.start_ns;
    };
    const auto [last, first] = std::minmax_element(
        collective.events.begin(), collective.events.end(),
        [&](const auto& a, const auto& b) { return duration(a) < duration(b); });
    for (const auto& member : collective.events) {
      RankWaits& one = group.waits[member.first];
      one.rank = member.first;
      ++one.collectives;
      one.waited_ns = bounded_sum(one.waited_ns, duration(member) - duration(*last));
      lags[{collective.group, member.first}].push_back(duration(*first) - duration(member));
    }
    if (duration(*first) > duration(*last)) ++group.waits[last->first].arrived_last;
  }
  std::vector<GroupWaits> result;
  for (auto& [id, group] : groups) {
    for (auto& [rank, one] : group.waits) one.median_lag_ns = median(std::move(lags[{id, rank}]));
    result.push_back(std::move(group));
  }
  return result;
}

std::vector<RankWaits> rank_waits(const std::vector<GroupWaits>& groups) {
  std::map<std::int32_t, RankWaits> sums;
  std::map<std::int32_t, std::int64_t> most;  // collectives of the group that the lag is of
  for (const GroupWaits& group : groups) {
    for (const auto& [rank, one] : group.waits) {
      RankWaits& sum = sums[rank];
      sum.rank = rank;
      sum.collectives += one.collectives;
      sum.waited_ns = bounded_sum(sum.waited_ns, one.waited_ns);
      sum.arrived_last += one.arrived_last;
      if (one.collectives > most[rank]) {
        most[rank] = one.collectives;
        sum.median_lag_ns = one.median_lag_ns;
      }
    }
  }
  std::vector<RankWaits> result;
  for (const auto& [rank, sum] : sums) result.push_back(sum);
  return result;
}

}  // namespace foreshard::profiler
