#include "gui/models/comparison/step_comparison.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>

#include "gui/models/memory/memory_curves.hpp"
#include "profiler/analysis/analysis.hpp"

namespace foreshard::gui {
namespace {

// From the recorded step; from what happened where none was recorded.
traces::Interval step_interval(const traces::Trace& trace, std::int32_t rank, std::int32_t step) {
  for (const traces::Step& one : trace.steps) {
    if (one.rank == rank && one.step == step) return {one.start_ns, one.end_ns};
  }
  traces::Interval all{std::numeric_limits<std::int64_t>::max(),
                       std::numeric_limits<std::int64_t>::min()};
  for (const traces::Event& event : trace.events) {
    if (event.step != step || trace.lanes[static_cast<std::size_t>(event.lane)].rank != rank) {
      continue;
    }
    all.start_ns = std::min(all.start_ns, event.start_ns);
    all.end_ns = std::max(all.end_ns, event.end_ns);
  }
  return all.start_ns > all.end_ns ? traces::Interval{0, 0} : all;
}

StepSide side_of(const TracePtr& trace, std::int32_t rank, std::int32_t step) {
  StepSide side{trace, rank, step_interval(*trace, rank, step), {}, {}};
  side.units = unit_spans(*trace, rank, step, side.step.start_ns);
  side.memory = memory_curve(trace, rank);
  return side;
}

// The steady step whose length is nearest to that of all.
std::int32_t typical_step(const traces::Trace& trace) {
  const std::vector<std::int32_t> steady = profiler::steady_steps(trace);
  const std::int64_t median = profiler::steady_step_time(trace);
  std::int32_t best = steady.empty() ? steps_of(trace).back() : steady.back();
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const traces::Step& step : trace.steps) {
    const std::int64_t apart = std::abs(step.end_ns - step.start_ns - median);
    if (apart >= least || !std::binary_search(steady.begin(), steady.end(), step.step)) continue;
    least = apart;
    best = step.step;
  }
  return best;
}

}  // namespace

const ComparedPair* StepComparison::pair_of(bool is_candidate, std::int32_t event) const {
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const ComparedPair& pair) {
    return (is_candidate ? pair.events.candidate : pair.events.baseline) == event;
  });
  return found == pairs.end() ? nullptr : &*found;
}

const ComparedPair* StepComparison::worst_pair(const std::string& name) const {
  const ComparedPair* worst = nullptr;
  const auto apart = [](const ComparedPair& pair) {
    return std::abs(pair.candidate_ns - pair.baseline_ns);
  };
  for (const ComparedPair& pair : pairs) {
    if (pair.name == name && (worst == nullptr || apart(pair) > apart(*worst))) worst = &pair;
  }
  return worst;
}

StepComparison compare_step(const TracePtr& baseline, const TracePtr& candidate,
                            const StepChoice& choice) {
  StepComparison result;
  result.choice = choice;
  result.baseline = side_of(baseline, choice.rank, choice.baseline_step);
  const std::int32_t other = profiler::RankCounterparts(*baseline, *candidate)(choice.rank);
  result.candidate = side_of(candidate, other, choice.candidate_step);

  const profiler::MatchedEvents matched = profiler::matched_events(
      *baseline, choice.rank, choice.baseline_step, *candidate, choice.candidate_step);
  for (const profiler::EventMatch& match : matched.pairs) {
    const auto& ours = baseline->events[static_cast<std::size_t>(match.baseline)];
    const auto& theirs = candidate->events[static_cast<std::size_t>(match.candidate)];
    const std::string& name = baseline->strings[ours.name];
    result.pairs.push_back({match, ours.end_ns - ours.start_ns, theirs.end_ns - theirs.start_ns,
                            name, colour_of_operator(name, baseline->strings[ours.phase])});
  }
  result.ribbons = ribbons(result.baseline.units, result.candidate.units, matched.pairs);
  result.drift =
      drift_of(*baseline, result.baseline.step, *candidate, result.candidate.step, matched.pairs);
  result.lanes = lane_pairs(
      lane_sides(*baseline, choice.rank, choice.baseline_step, result.baseline.step.start_ns),
      lane_sides(*candidate, other, choice.candidate_step, result.candidate.step.start_ns));
  return result;
}

std::vector<std::int32_t> steps_of(const traces::Trace& trace) {
  std::set<std::int32_t> steps;
  for (const traces::Step& step : trace.steps) steps.insert(step.step);
  if (steps.empty()) steps.insert(0);
  return {steps.begin(), steps.end()};
}

StepChoice first_choice(const traces::Trace& baseline, const traces::Trace& candidate) {
  const auto ranks = profiler::ranks_of(baseline);
  const std::int32_t step = typical_step(baseline);
  const std::vector<std::int32_t> steady = profiler::steady_steps(candidate);
  const bool both_have_it = std::binary_search(steady.begin(), steady.end(), step);
  return {ranks.empty() ? 0 : *ranks.begin(), step, both_have_it ? step : typical_step(candidate)};
}

}  // namespace foreshard::gui
