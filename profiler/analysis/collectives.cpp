#include "profiler/analysis/collectives.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "models/base/statistics.hpp"
#include "models/program/bus_bandwidth.hpp"
#include "traces/input/bounded_sum.hpp"
#include "traces/intervals.hpp"
#include "traces/meaning/collectives.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;
using traces::Event;
using traces::EventKind;
using traces::Interval;

struct RankIntervals {
  std::vector<Interval> compute;
  std::vector<std::pair<std::int64_t, std::size_t>> collectives;  // start and event
};

std::int32_t rank_of(const traces::Trace& trace, const Event& e) {
  return trace.lanes[static_cast<std::size_t>(e.lane)].rank;
}

std::int64_t duration_of(const traces::Trace& trace, std::int32_t event) {
  const Event e = trace.events[static_cast<std::size_t>(event)];
  return e.end_ns - e.start_ns;
}

// Whether all ranks of its group have it; a group without ranks is all of them.
bool is_met_by_all(const traces::Collective& collective, std::size_t group_ranks,
                   std::size_t all_ranks) {
  const std::size_t members = group_ranks == 0 ? all_ranks : group_ranks;
  return members > 1 && collective.events.size() == members;
}

std::size_t count_ranks(const traces::Trace& trace) {
  std::set<std::int32_t> ranks;
  for (const traces::Lane& lane : trace.lanes) ranks.insert(lane.rank);
  return ranks.size();
}

// Of each event of a collective that all ranks of its group have, by index: the time of the rank that came last.
std::unordered_map<std::size_t, std::int64_t> transfer_times(const traces::Trace& trace) {
  const std::size_t all_ranks = count_ranks(trace);
  std::map<traces::StringId, std::size_t> group_ranks;
  std::unordered_map<std::size_t, std::int64_t> times;
  for (const traces::Collective& collective : traces::collectives(trace)) {
    const auto [group, is_new] = group_ranks.try_emplace(collective.group);
    if (is_new) group->second = traces::process_group(trace.strings[group->first]).ranks.size();
    if (!is_met_by_all(collective, group->second, all_ranks)) continue;
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (const auto& member : collective.events) {
      shortest = std::min(shortest, duration_of(trace, member.second));
    }
    for (const auto& member : collective.events) {
      times[static_cast<std::size_t>(member.second)] = shortest;
    }
  }
  return times;
}

bool is_more_exposed(const CollectiveCost& a, const CollectiveCost& b) {
  return std::tie(b.exposed_ns, a.name, a.unit, a.group, a.key.dims) <
         std::tie(a.exposed_ns, b.name, b.unit, b.group, b.key.dims);
}

void add(CollectiveCost& sum, const CollectiveCost& one) {
  sum.count += one.count;
  sum.bytes = bounded_sum(sum.bytes, one.bytes);
  sum.total_ns = bounded_sum(sum.total_ns, one.total_ns);
  sum.exposed_ns = bounded_sum(sum.exposed_ns, one.exposed_ns);
  sum.matched += one.matched;
  sum.transfer_ns = bounded_sum(sum.transfer_ns, one.transfer_ns);
}

}  // namespace

std::optional<CollectiveBandwidth> bandwidth(const CollectiveCost& cost) {
  const std::int64_t ranks = cost.key.dims[1];
  const std::int64_t ns = cost.matched > 0 ? cost.transfer_ns : cost.total_ns;
  if (!is_collective(cost.key.op) || ranks < 2 || ns <= 0) return std::nullopt;
  const double bytes = static_cast<double>(cost.key.dims[0]) *
                       static_cast<double>(cost.matched > 0 ? cost.matched : cost.count);
  const auto time = static_cast<double>(ns);
  return CollectiveBandwidth{bytes / time, bus_gb_s(cost.key.op, bytes, ranks, time)};
}

std::vector<CollectiveCost> by_size(const std::vector<CollectiveCost>& costs) {
  std::map<std::tuple<Operator, std::string, std::int64_t, std::int64_t>, CollectiveCost> sums;
  for (const CollectiveCost& one : costs) {
    if (!is_collective(one.key.op)) continue;
    CollectiveCost& sum = sums[{one.key.op, one.group, one.key.dims[0], one.key.dims[1]}];
    sum.group = one.group;
    sum.key = one.key;
    add(sum, one);
  }
  std::vector<CollectiveCost> result;
  for (auto& [key, sum] : sums) result.push_back(std::move(sum));
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return result;
}

std::vector<CollectiveCost> by_unit(const std::vector<CollectiveCost>& costs) {
  std::map<std::pair<std::string, std::string>, CollectiveCost> sums;
  for (const CollectiveCost& one : costs) {
    CollectiveCost& sum = sums[{one.name, one.unit}];
    sum.name = one.name;
    sum.unit = one.unit;
    add(sum, one);
  }
  std::vector<CollectiveCost> result;
  for (auto& [key, sum] : sums) result.push_back(std::move(sum));
  std::sort(result.begin(), result.end(), is_more_exposed);
  return result;
}

std::vector<CollectiveCost> collective_costs(const traces::Trace& trace) {
  std::map<std::int32_t, RankIntervals> ranks;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event e = trace.events[i];
    if (e.kind == EventKind::compute) {
      ranks[rank_of(trace, e)].compute.push_back({e.start_ns, e.end_ns});
    } else if (e.kind == EventKind::communication) {
      ranks[rank_of(trace, e)].collectives.emplace_back(e.start_ns, i);
    }
  }
  const auto transfers = transfer_times(trace);
  using traces::StringId;  // name, unit, group, cost key
  std::map<std::tuple<StringId, StringId, StringId, StringId>, CollectiveCost> costs;
  for (auto& [rank, intervals] : ranks) {
    const auto compute = united(std::move(intervals.compute));
    std::ranges::sort(intervals.collectives);
    std::int64_t counted_until = std::numeric_limits<std::int64_t>::min();
    std::size_t next = 0;  // first compute interval that is not over
    for (const auto& [start, index] : intervals.collectives) {
      const Event e = trace.events[index];
      CollectiveCost& cost = costs[{e.name, e.unit, e.group, e.cost_key}];
      ++cost.count;
      cost.bytes = bounded_sum(cost.bytes, e.bytes);
      cost.total_ns = bounded_sum(cost.total_ns, e.end_ns - e.start_ns);
      if (const auto transfer = transfers.find(index); transfer != transfers.end()) {
        ++cost.matched;
        cost.transfer_ns = bounded_sum(cost.transfer_ns, transfer->second);
      }
      const std::int64_t begin = std::max(e.start_ns, counted_until);
      if (begin >= e.end_ns) continue;
      counted_until = e.end_ns;
      std::int64_t exposed = e.end_ns - begin;
      while (next < compute.size() && compute[next].end_ns <= begin) ++next;
      for (std::size_t k = next; k < compute.size() && compute[k].start_ns < e.end_ns; ++k) {
        exposed -= std::min(compute[k].end_ns, e.end_ns) - std::max(compute[k].start_ns, begin);
      }
      cost.exposed_ns = bounded_sum(cost.exposed_ns, exposed);
    }
  }
  std::vector<CollectiveCost> result;
  for (auto& [key, cost] : costs) {
    cost.name = trace.strings[std::get<0>(key)];
    cost.unit = trace.strings[std::get<1>(key)];
    cost.group = trace.strings[std::get<2>(key)];
    while (cost.group.ends_with(' ')) cost.group.pop_back();  // of a name without ranks
    CostKey parsed;
    if (parse_cost_key(trace.strings[std::get<3>(key)], parsed)) cost.key = parsed;
    result.push_back(std::move(cost));
  }
  std::sort(result.begin(), result.end(), is_more_exposed);
  return result;
}

std::vector<GroupWaits> group_waits(const traces::Trace& trace) {
  const std::size_t all_ranks = count_ranks(trace);
  std::map<traces::StringId, GroupWaits> groups;
  std::map<std::pair<traces::StringId, std::int32_t>, std::vector<std::int64_t>> lags;
  for (const traces::Collective& collective : traces::collectives(trace)) {
    GroupWaits& group = groups[collective.group];
    if (group.collectives++ == 0 && collective.group != 0) {
      const traces::ProcessGroup named = traces::process_group(trace.strings[collective.group]);
      group.name = named.name;
      group.ranks = named.ranks;
    }
    if (!is_met_by_all(collective, group.ranks.size(), all_ranks)) continue;
    const auto duration = [&](const auto& member) { return duration_of(trace, member.second); };
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
