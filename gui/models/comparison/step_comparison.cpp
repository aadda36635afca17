#include "gui/models/comparison/step_comparison.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "gui/models/memory/memory_curves.hpp"
#include "traces/meaning/steady_steps.hpp"

namespace foreshard::gui {
namespace {

constexpr std::array kLanes{RowKind::phase,      RowKind::unit,           RowKind::compute,
                            RowKind::all_gather, RowKind::reduce_scatter, RowKind::all_reduce,
                            RowKind::stream,     RowKind::exposed,        RowKind::copies,
                            RowKind::host};
constexpr std::int64_t kLeastSeen = 10'000;  // of the busiest lane's time: one in so many

// The steps of a rank by number: as its host recorded them, or as its device has them where that lags behind.
std::map<std::int32_t, traces::Interval> step_times(const traces::Trace& trace, std::int32_t rank) {
  std::map<std::int32_t, traces::Interval> steps;
  const auto take = [&](const auto& step) {
    if (step.rank == rank) steps[step.step] = {step.start_ns, step.end_ns};
  };
  const traces::DeviceEnds ends = traces::device_ends(trace);
  std::ranges::for_each(trace.steps, take);
  if (traces::lagging_ranks(trace.steps, ends).contains(rank))
    std::ranges::for_each(traces::device_steps(trace.steps, ends), take);
  return steps;
}

// What happened, where no step was recorded.
traces::Interval step_interval(const traces::Trace& trace, std::int32_t rank, std::int32_t step) {
  const auto steps = step_times(trace, rank);
  if (const auto found = steps.find(step); found != steps.end()) return found->second;
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

StepSide side_of(const DocumentPtr& document, std::int32_t rank, std::int32_t step) {
  return {document, rank, step_interval(*document->trace, rank, step),
          memory_curve(document->trace, rank)};
}

// Of the steady ones, the rank's whose length is nearest to that of all.
std::int32_t typical_step(const Document& document, std::int32_t rank) {
  const std::vector<std::int32_t>& steady = document.analysis->steady_steps;
  std::int32_t best = steady.empty() ? steps_of(*document.trace).back() : steady.back();
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const auto& [step, time] : step_times(*document.trace, rank)) {
    const std::int64_t apart =
        std::abs(time.end_ns - time.start_ns - document.analysis->step_time_ns);
    if (apart >= least || !std::ranges::binary_search(steady, step)) continue;
    least = apart;
    best = step;
  }
  return best;
}

// What of a row is within the step and is work.
std::vector<traces::Interval> work_in_step(const Row& row, const traces::Interval& step) {
  std::vector<traces::Interval> work;
  for (std::size_t n = row.first_ending_after(step.start_ns); n < row.size(); ++n) {
    const traces::Interval span = row.span(n);
    if (span.start_ns >= step.end_ns) break;
    const std::int32_t event = row.event(n);
    if (event != traces::kNone &&
        !profiler::is_compared(row.trace().events[static_cast<std::size_t>(event)].kind)) {
      continue;
    }
    work.push_back({std::max(span.start_ns, step.start_ns), std::min(span.end_ns, step.end_ns)});
  }
  return work;
}

LanePair::Side lane_of(const StepSide& side, RowKind kind) {
  LanePair::Side lane;
  std::vector<traces::Interval> work;
  const std::vector<Row>& rows = side.document->lanes->rows();
  for (std::size_t n = 0; n < rows.size(); ++n) {
    if (rows[n].kind != kind || rows[n].rank != side.rank) continue;
    lane.rows.push_back(n);
    const auto more = work_in_step(rows[n], side.step);
    work.insert(work.end(), more.begin(), more.end());
  }
  lane.busy_ns = traces::length(traces::united(std::move(work)));
  return lane;
}

std::vector<LanePair> lanes_of(const StepSide& baseline, const StepSide& candidate) {
  std::vector<LanePair> lanes;
  std::int64_t busiest = 0;
  for (const RowKind kind : kLanes) {
    lanes.push_back({kind, lane_of(baseline, kind), lane_of(candidate, kind)});
    busiest = std::max({busiest, lanes.back().baseline.busy_ns, lanes.back().candidate.busy_ns});
  }
  std::erase_if(lanes, [&](const LanePair& lane) {
    const std::int64_t busy = std::max(lane.baseline.busy_ns, lane.candidate.busy_ns);
    return busy == 0 || busy < busiest / kLeastSeen;
  });
  return lanes;
}

// A unit's stretches on one side: the row that has them, where one has.
class UnitStretches {
 public:
  UnitStretches(const StepSide& side, const LanePair::Side& lane)
      : side_(side),
        row_(lane.rows.empty() ? nullptr : &side.document->lanes->rows()[lane.rows.front()]) {}

  // In which the event is its unit's work.
  std::optional<std::size_t> of(std::int32_t number) const {
    const auto& event = side_.trace().events[static_cast<std::size_t>(number)];
    const bool is_work =
        event.kind == traces::EventKind::compute || event.kind == traces::EventKind::host_compute;
    if (row_ == nullptr || !is_work) return std::nullopt;
    const std::size_t item = row_->first_ending_after(event.start_ns);
    if (item == row_->size() || row_->name(item) != event.unit ||
        row_->span(item).start_ns > event.start_ns) {
      return std::nullopt;
    }
    return item;
  }
  traces::Interval time(std::size_t item) const {
    const traces::Interval span = row_->span(item);
    return {span.start_ns - side_.step.start_ns, span.end_ns - side_.step.start_ns};
  }

 private:
  const StepSide& side_;
  const Row* row_;
};

// Joins two stretches that have more matched kernels in common than either has with any other.
std::vector<Ribbon> ribbons_of(const StepComparison& step) {
  const LanePair* units = step.lane(RowKind::unit);
  if (units == nullptr) return {};
  const UnitStretches ours(step.baseline, units->baseline);
  const UnitStretches theirs(step.candidate, units->candidate);
  std::map<std::pair<std::size_t, std::size_t>, int> common;
  for (const ComparedPair& pair : step.pairs) {
    const auto our = ours.of(pair.events.baseline), their = theirs.of(pair.events.candidate);
    if (our && their) ++common[{*our, *their}];
  }
  std::map<std::size_t, int> most_of_ours, most_of_theirs;
  for (const auto& [items, count] : common) {
    most_of_ours[items.first] = std::max(most_of_ours[items.first], count);
    most_of_theirs[items.second] = std::max(most_of_theirs[items.second], count);
  }
  std::vector<Ribbon> ribbons;
  for (const auto& [items, count] : common) {
    const auto [our, their] = items;
    if (count < most_of_ours[our] || count < most_of_theirs[their]) continue;
    // Of equally good ones the first.
    most_of_ours[our] = most_of_theirs[their] = count + 1;
    ribbons.push_back({ours.time(our), theirs.time(their)});
  }
  return ribbons;
}

void sort_out_pairs(StepComparison& step) {
  step.plot = PairPlot(step.pairs);
  step.seen = step.plot.seen(step.pairs);
  std::unordered_map<traces::StringId, std::vector<ComparedPair>> by_name;
  for (const ComparedPair& pair : step.pairs) by_name[pair.name].push_back(pair);
  for (const auto& [name, pairs] : by_name) {
    const ComparedPair worst = *std::ranges::max_element(
        pairs, {}, [](const ComparedPair& pair) { return std::abs(pair.difference_ns()); });
    step.operators[step.baseline.trace().strings[name]] = {pair_spread(pairs), worst,
                                                           step.plot.seen(pairs)};
  }
  const auto in_order = [&](std::int32_t profiler::EventMatch::*side) {
    std::vector<std::uint32_t> places(step.pairs.size());
    std::iota(places.begin(), places.end(), 0U);
    std::ranges::stable_sort(places, {},
                             [&, side](std::uint32_t n) { return step.pairs[n].events.*side; });
    return places;
  };
  step.by_baseline = in_order(&profiler::EventMatch::baseline);
  step.by_candidate = in_order(&profiler::EventMatch::candidate);
}

}  // namespace

const LanePair* StepComparison::lane(RowKind kind) const {
  const auto found = std::ranges::find(lanes, kind, &LanePair::kind);
  return found == lanes.end() ? nullptr : &*found;
}

const ComparedPair* StepComparison::pair_of(bool is_candidate, std::int32_t event) const {
  const auto event_of = [&](std::uint32_t n) {
    return is_candidate ? pairs[n].events.candidate : pairs[n].events.baseline;
  };
  const auto& places = is_candidate ? by_candidate : by_baseline;
  const auto found = std::ranges::lower_bound(places, event, {}, event_of);
  return found == places.end() || event_of(*found) != event ? nullptr : &pairs[*found];
}

const OperatorPairs* StepComparison::pairs_of(const std::string& operator_name) const {
  const auto found = operators.find(operator_name);
  return found == operators.end() ? nullptr : &found->second;
}

StepComparison compare_step(const DocumentPtr& baseline, const DocumentPtr& candidate,
                            const StepChoice& choice) {
  StepComparison result;
  result.choice = choice;
  result.baseline = side_of(baseline, choice.rank, choice.baseline_step);
  const traces::Trace &ours = *baseline->trace, &theirs = *candidate->trace;
  const std::int32_t other = profiler::RankCounterparts(ours, theirs)(choice.rank);
  result.candidate = side_of(candidate, other, choice.candidate_step);

  const profiler::MatchedEvents matched = profiler::matched_events(
      ours, choice.rank, choice.baseline_step, theirs, choice.candidate_step);
  const auto length = [](const traces::Trace& trace, std::int32_t event) {
    const auto& one = trace.events[static_cast<std::size_t>(event)];
    return one.end_ns - one.start_ns;
  };
  for (const profiler::EventMatch& match : matched.pairs) {
    const auto& event = ours.events[static_cast<std::size_t>(match.baseline)];
    result.pairs.push_back(
        {match, length(ours, match.baseline), length(theirs, match.candidate), event.name,
         colour_of_operator(ours.strings[event.name], ours.strings[event.phase])});
  }
  sort_out_pairs(result);
  result.drift = Drift(ours, result.baseline.step, theirs, result.candidate.step, matched.pairs);
  result.lanes = lanes_of(result.baseline, result.candidate);
  result.ribbons = ribbons_of(result);
  return result;
}

std::vector<std::int32_t> steps_of(const traces::Trace& trace) {
  std::set<std::int32_t> steps;
  for (const traces::Step& step : trace.steps) steps.insert(step.step);
  if (steps.empty()) steps.insert(0);
  return {steps.begin(), steps.end()};
}

StepChoice first_choice(const Document& baseline, const Document& candidate, std::int32_t rank) {
  const auto ranks = profiler::ranks_of(*baseline.trace);
  if (!ranks.contains(rank) && !ranks.empty()) rank = *ranks.begin();
  const std::int32_t step = typical_step(baseline, rank);
  const bool both_have_it = std::ranges::binary_search(candidate.analysis->steady_steps, step);
  const std::int32_t other = profiler::RankCounterparts(*baseline.trace, *candidate.trace)(rank);
  return {rank, step, both_have_it ? step : typical_step(candidate, other)};
}

}  // namespace foreshard::gui
