#include "profiler/analysis/units.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "models/program/operators.hpp"
#include "traces/input/bounded_sum.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;
using traces::Event;
using traces::EventKind;
using traces::StringId;
using traces::Trace;

bool has_any(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

enum class Role { gather, compute, reduce, other };

Role role_of(const Trace& trace, const Event& event) {
  if (event.kind == EventKind::compute) return Role::compute;
  if (event.kind != EventKind::communication) return Role::other;
  CostKey key;
  if (event.cost_key != 0 && parse_cost_key(trace.strings[event.cost_key], key)) {
    if (key.op == Operator::all_gather) return Role::gather;
    const bool is_sum = key.op == Operator::reduce_scatter || key.op == Operator::all_reduce;
    return is_sum ? Role::reduce : Role::other;
  }
  const std::string& name = trace.strings[event.name];
  if (has_any(name, {"AllGather", "all_gather", "allgather"})) return Role::gather;
  return has_any(name, {"ReduceScatter", "reduce_scatter", "AllReduce", "all_reduce", "allreduce"})
             ? Role::reduce
             : Role::other;
}

struct Work {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int32_t lane = 0;
  StringId unit = 0;
  Role role = Role::other;
};

// What a gather kept waiting.
struct Wait {
  std::int64_t at_ns = 0, ns = 0;  // of the step's beginning
  StringId unit = 0;
};

// `works` of one rank's step by start.
std::vector<Wait> waits_for_gathers(const std::vector<Work>& works, std::int64_t step_ns) {
  std::vector<Wait> waits;
  std::map<std::int32_t, std::int64_t> done_ns;  // of compute, by lane
  std::map<StringId, std::int64_t> gathered_ns;  // by unit, until its compute begins
  for (const Work& work : works) {
    if (work.role == Role::gather && work.unit != 0) gathered_ns[work.unit] = work.end_ns;
    if (work.role != Role::compute) continue;
    const auto gathered = gathered_ns.find(work.unit);
    const auto done = done_ns.find(work.lane);
    if (gathered != gathered_ns.end() && gathered->second <= work.start_ns) {
      if (done != done_ns.end() && gathered->second - done->second > kLateGatherNs) {
        waits.push_back({gathered->second - step_ns, gathered->second - done->second, work.unit});
      }
      gathered_ns.erase(gathered);
    }
    auto& until = done_ns.try_emplace(work.lane, work.end_ns).first->second;
    until = std::max(until, work.end_ns);
  }
  return waits;
}

}  // namespace

StepUnits step_units(const Trace& trace, const std::map<std::int32_t, traces::Interval>& steps) {
  std::map<std::int32_t, std::vector<Work>> ranks;
  for (const Event& event : trace.events) {
    if (!traces::is_device_work(event.kind)) continue;
    const std::int32_t rank = trace.lanes[static_cast<std::size_t>(event.lane)].rank;
    const auto step = steps.find(rank);
    if (step == steps.end() || event.start_ns < step->second.start_ns ||
        event.start_ns >= step->second.end_ns) {
      continue;
    }
    ranks[rank].push_back(
        {event.start_ns, event.end_ns, event.lane, event.unit, role_of(trace, event)});
  }
  struct Sum {
    UnitTimes times;
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();  // that it is computed
  };
  std::map<StringId, Sum> sums;
  Wait first{std::numeric_limits<std::int64_t>::max(), 0, 0};
  for (auto& [rank, works] : ranks) {
    const std::int64_t step_ns = steps.at(rank).start_ns;
    std::stable_sort(works.begin(), works.end(),
                     [](const Work& a, const Work& b) { return a.start_ns < b.start_ns; });
    for (const Work& work : works) {
      if (work.unit == 0 || work.role == Role::other) continue;
      Sum& sum = sums[work.unit];
      const std::int64_t ns = work.end_ns - work.start_ns;
      std::int64_t& total = work.role == Role::gather   ? sum.times.gather_ns
                            : work.role == Role::reduce ? sum.times.reduce_ns
                                                        : sum.times.compute_ns;
      total = bounded_sum(total, ns);
      if (work.role == Role::compute) {
        sum.first_ns = std::min(sum.first_ns, work.start_ns - step_ns);
      }
    }
    for (const Wait& wait : waits_for_gathers(works, step_ns)) {
      std::int64_t& late = sums[wait.unit].times.late_ns;
      late = bounded_sum(late, wait.ns);
      if (wait.at_ns < first.at_ns) first = wait;
    }
  }
  StepUnits result{{}, trace.strings[first.unit]};
  std::vector<std::pair<std::int64_t, UnitTimes>> ordered;
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(ranks.size(), 1));
  for (auto& [unit, sum] : sums) {
    sum.times.unit = trace.strings[unit];
    for (const auto part : {&UnitTimes::gather_ns, &UnitTimes::compute_ns, &UnitTimes::reduce_ns,
                            &UnitTimes::late_ns}) {
      sum.times.*part /= count;
    }
    ordered.emplace_back(sum.first_ns, std::move(sum.times));
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [at, times] : ordered) result.units.push_back(std::move(times));
  return result;
}

}  // namespace foreshard::profiler
