#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/base/statistics.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/comparison.hpp"
#include "profiler/analysis/matched_events.hpp"
#include "profiler/analysis/operators.hpp"
#include "traces/input/bounded_sum.hpp"
#include "traces/metadata.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;

struct Matchable {
  std::string name;
  std::string category;
  std::map<std::int32_t, std::int64_t>
      ns_of_step;  // of steady steps; of all kernels it consists of
};

std::int64_t median_ns(const Matchable& event) {
  std::vector<std::int64_t> durations;
  for (const auto& [step, ns] : event.ns_of_step) durations.push_back(ns);
  return median(std::move(durations));
}

struct SteadyEvents {
  std::map<EventKey, Matchable> matchable;
  std::int64_t without_key = 0;  // a steady step, rounded up
};

SteadyEvents steady_events(const traces::Trace& trace) {
  const std::vector<std::int32_t> steps = steady_steps(trace);
  SteadyEvents events;
  for (const traces::Event& e : trace.events) {
    if (!is_compared(e.kind) || !std::binary_search(steps.begin(), steps.end(), e.step)) continue;
    auto key = event_key(trace, e);
    if (!key) {
      ++events.without_key;
      continue;
    }
    Matchable& event = events.matchable[std::move(*key)];
    if (event.ns_of_step.empty()) {
      event.name = operator_name(trace, e);
      event.category = name(e.kind);
    }
    std::int64_t& ns = event.ns_of_step[e.step];
    ns = bounded_sum(ns, e.end_ns - e.start_ns);
  }
  const auto count = std::max<std::int64_t>(static_cast<std::int64_t>(steps.size()), 1);
  events.without_key = (events.without_key + count - 1) / count;
  return events;
}

void match_events(const traces::Trace& baseline, const traces::Trace& candidate,
                  const RankCounterparts& stands_for, Comparison& result) {
  const auto ours = steady_events(baseline), theirs = steady_events(candidate);
  std::map<std::tuple<std::string, std::string>, OperatorDifference> operators;
  std::set<EventKey> used;
  for (const auto& [key, event] : ours.matchable) {
    const auto other = theirs.matchable.find({stands_for(key.rank), key.is_device, key.stable_key});
    if (other == theirs.matchable.end()) {
      ++result.events_only_baseline;
      continue;
    }
    ++result.events_matched;
    used.insert(other->first);
    OperatorDifference& one = operators[{event.name, event.category}];
    ++one.events;
    one.baseline_ns = bounded_sum(one.baseline_ns, median_ns(event));
    one.candidate_ns = bounded_sum(one.candidate_ns, median_ns(other->second));
  }
  result.events_only_baseline += ours.without_key;
  result.events_only_candidate =
      static_cast<std::int64_t>(theirs.matchable.size() - used.size()) + theirs.without_key;
  for (auto& [key, one] : operators) {
    std::tie(one.name, one.category) = key;
    result.operators.push_back(std::move(one));
  }
  const auto difference = [](const OperatorDifference& one) {
    return std::abs(one.candidate_ns - one.baseline_ns);
  };
  std::stable_sort(result.operators.begin(), result.operators.end(),
                   [&](const OperatorDifference& a, const OperatorDifference& b) {
                     return difference(a) > difference(b);
                   });
}

// Mean over ranks of the median over the steady steps.
std::int64_t steady_mean(const Analysis& analysis, const std::vector<std::int32_t>& steps,
                         std::int64_t TimeBreakdown::*field) {
  std::int64_t sum = 0, ranks = 0;
  for (const RankAnalysis& rank : analysis.ranks) {
    std::vector<std::int64_t> values;
    for (const StepAnalysis& step : rank.steps) {
      if (std::binary_search(steps.begin(), steps.end(), step.step)) {
        values.push_back(step.time.*field);
      }
    }
    if (values.empty()) continue;
    sum = bounded_sum(sum, median(std::move(values)));
    ++ranks;
  }
  return sum / std::max<std::int64_t>(ranks, 1);
}

void compare_memory(const Analysis& baseline, const Analysis& candidate,
                    const RankCounterparts& stands_for, Comparison& result) {
  std::map<std::int32_t, const MemoryPeak*> peaks;
  for (const RankAnalysis& rank : candidate.ranks) peaks[rank.rank] = &rank.peak;
  const auto keep_worst = [](std::int64_t& worst, std::int64_t error) {
    if (std::abs(error) > std::abs(worst)) worst = error;
  };
  for (const RankAnalysis& rank : baseline.ranks) {
    const auto other = peaks.find(stands_for(rank.rank));
    if (other == peaks.end()) {
      result.missing_ranks.push_back(rank.rank);
      continue;
    }
    const RankMemoryDifference& one = result.ranks.emplace_back(
        RankMemoryDifference{rank.rank, rank.peak.allocated_bytes, other->second->allocated_bytes,
                             rank.peak.reserved_bytes, other->second->reserved_bytes});
    keep_worst(result.peak_allocated_error_bytes,
               one.candidate_allocated_bytes - one.baseline_allocated_bytes);
    keep_worst(result.peak_reserved_error_bytes,
               one.candidate_reserved_bytes - one.baseline_reserved_bytes);
  }
}

}  // namespace

Comparison compare(const traces::Trace& baseline, const traces::Trace& candidate) {
  return compare(baseline, analyse(baseline), candidate, analyse(candidate));
}

Comparison compare(const traces::Trace& baseline, Analysis ours, const traces::Trace& candidate,
                   Analysis theirs) {
  Comparison result;
  const RankCounterparts stands_for(baseline, candidate);
  result.baseline_step_ns = ours.step_time_ns;
  result.candidate_step_ns = theirs.step_time_ns;
  result.step_time_error =
      ours.step_time_ns > 0 && theirs.step_time_ns > 0
          ? static_cast<double>(std::abs(theirs.step_time_ns - ours.step_time_ns)) /
                static_cast<double>(ours.step_time_ns)
          : -1;
  const auto hash = [](const traces::Trace& trace) {
    const auto found = trace.metadata.find("program_hash");
    return found == trace.metadata.end() ? std::string() : found->second;
  };
  result.same_program = !hash(baseline).empty() && hash(baseline) == hash(candidate);

  compare_memory(ours, theirs, stands_for, result);
  const auto our_steps = steady_steps(baseline), their_steps = steady_steps(candidate);
  const std::pair<const char*, std::int64_t TimeBreakdown::*> categories[] = {
      {"compute", &TimeBreakdown::compute_ns},
      {"communication", &TimeBreakdown::communication_ns},
      {"memory_operation", &TimeBreakdown::memory_operation_ns},
      {"idle", &TimeBreakdown::idle_ns},
      {"exposed_communication", &TimeBreakdown::exposed_communication_ns}};
  for (const auto& [category, field] : categories) {
    result.by_category.push_back(
        {category, steady_mean(ours, our_steps, field), steady_mean(theirs, their_steps, field)});
  }
  match_events(baseline, candidate, stands_for, result);
  result.changes = operator_changes(baseline, candidate);
  result.has_prediction = theirs.predicted;
  result.baseline = std::move(ours);
  result.candidate = std::move(theirs);
  return result;
}

}  // namespace foreshard::profiler
