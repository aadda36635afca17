#include <algorithm>
#include <array>
#include <future>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "models/base/statistics.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/breakdown.hpp"
#include "profiler/analysis/memory.hpp"
#include "profiler/analysis/operators.hpp"
#include "profiler/analysis/steady_step.hpp"
#include "traces/input/bounded_sum.hpp"
#include "traces/metadata.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::profiler {
namespace {

// What share of a prediction's work has measured, fitted or modelled costs.

// Of all ranks, best source first; none of a measured trace.
std::vector<CostSourceTotal> cost_source_totals(const traces::Trace& trace) {
  std::array<CostSourceTotal, static_cast<std::size_t>(CostSource::kCount)> totals;
  for (const traces::Event& e : trace.events) {
    if (e.cost_source == CostSource::none) continue;
    CostSourceTotal& total = totals[static_cast<std::size_t>(e.cost_source)];
    total.source = e.cost_source;
    ++total.count;
    total.total_ns = traces::bounded_sum(total.total_ns, e.end_ns - e.start_ns);
  }
  std::vector<CostSourceTotal> result;
  for (const CostSourceTotal& total : totals) {
    if (total.count > 0) result.push_back(total);
  }
  return result;
}

using traces::bounded_sum;
using traces::EventKind;

// The events of one rank, before anything is counted.
struct RankEvents {
  std::int64_t events = 0;
  BreakdownBuilder all;
  std::map<std::int32_t, BreakdownBuilder> steps;
  std::map<std::int32_t, std::int64_t> host_wait_ns;
};

class Analyser {
 public:
  Analyser(const traces::Trace& trace, const std::stop_token& stop)
      : trace_(trace), stop_(stop), memory_(by_rank(trace)), memory_span_(memory_span(trace)) {}

  Analysis analyse() {
    result_.question = traces::recorded_question_json(trace_.metadata);
    if (traces::recorded_question(trace_.metadata, "trace")) {
      result_.question_line = traces::recorded_question_line(trace_.metadata);
    }
    result_.complete = trace_.complete;
    result_.complete_until_ns = trace_.complete_until_ns;
    result_.predicted = traces::integer(trace_.metadata, "predicted", 0) != 0;
    result_.source = text("source");
    result_.selection = text("selection");
    result_.end_reason = text("end_reason");
    result_.not_recorded = text("not_recorded");
    result_.moved_clocks = text("moved_clocks");
    result_.unknown_costs = traces::integer(trace_.metadata, "unknown_costs", 0);
    result_.gpus = traces::gpus_memory(trace_.metadata);
    result_.gpu_libraries = traces::gpu_libraries(trace_.metadata);
    if (const std::int64_t bytes = traces::integer(trace_.metadata, traces::kOutsideKey, 0);
        bytes > 0) {
      result_.predicted_outside = {
          bytes, traces::integer(trace_.metadata, traces::kOutsideLowKey, bytes),
          traces::integer(trace_.metadata, traces::kOutsideHighKey, bytes)};
    }
    result_.steady_steps = steady_steps(trace_);
    result_.step_time_ns = steady_step_time(trace_);
    for (const auto& [reason, records] : trace_.dropped) {
      if (records > 0) result_.dropped[reason] = records;
      result_.dropped_records = bounded_sum(result_.dropped_records, records);
    }
    look_at_events();
    return std::move(result_);
  }

 private:
  bool is_stopped() const { return stop_.stop_requested(); }

  // What takes time, from one question to the next.
  void look_at_events() {
    sort_events();
    if (is_stopped()) return;
    const Launches launches(trace_);
    if (is_stopped()) return;
    choose_steps();
    auto path = std::async([&] { find_path(launches); });  // the longest of them
    gaps_ = compute_gaps(trace_, launches, typical_);
    if (is_stopped()) return;
    launches_ = launch_statistics(trace_, launches);
    for (const auto& [rank, events] : ranks_) {
      if (is_stopped()) return;
      add_rank(rank, events);
    }
    if (is_stopped()) return;
    add_steady_step(launches);
    if (is_stopped()) return;
    add_slowest_step(launches);
    if (result_.steady_step) result_.units = step_units(trace_, typical_);
    if (is_stopped()) return;
    result_.operators = operator_totals(trace_);
    result_.cost_sources = cost_source_totals(trace_);
    if (is_stopped()) return;
    result_.collectives = collective_costs(trace_);
    if (is_stopped()) return;
    result_.groups = group_waits(trace_);
    result_.waits = rank_waits(result_.groups);
    if (is_stopped()) return;
    path.get();
    count_missing_ranks();
  }

  void sort_events() {
    for (const traces::Lane& lane : trace_.lanes) ranks_.try_emplace(lane.rank);
    for (const auto& e : trace_.memory) ranks_.try_emplace(e.rank);
    for (const traces::Event& e : trace_.events) {
      if (is_stopped()) return;
      RankEvents& rank = ranks_[trace_.lanes[static_cast<std::size_t>(e.lane)].rank];
      ++rank.events;
      if (traces::is_device_work(e.kind)) {
        rank.all.add(e);
        rank.steps[e.step].add(e);
      }
      if (e.kind == EventKind::host_wait) {
        auto& waited = rank.host_wait_ns[e.step];
        waited = bounded_sum(waited, e.end_ns - e.start_ns);
      }
    }
  }

  bool is_there(std::int64_t until_ns) const {
    return trace_.complete || until_ns <= trace_.complete_until_ns;
  }

  void choose_steps() {
    std::map<std::int32_t, std::vector<traces::Interval>> steady;
    const auto& numbers = result_.steady_steps;
    for (const traces::DeviceStep& step :
         traces::device_steps(trace_.steps, traces::device_ends(trace_))) {
      device_steps_[{step.rank, step.step}] = {step.start_ns, step.end_ns};
      if (is_there(step.end_ns) && std::binary_search(numbers.begin(), numbers.end(), step.step)) {
        steady[step.rank].push_back({step.start_ns, step.end_ns});
      }
    }
    for (auto& [rank, steps] : steady) {
      const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
      std::nth_element(steps.begin(), middle, steps.end(),
                       [](const traces::Interval& a, const traces::Interval& b) {
                         return a.end_ns - a.start_ns < b.end_ns - b.start_ns;
                       });
      typical_[rank] = *middle;
    }
  }

  void add_steady_step(const Launches& launches) {
    if (typical_.empty() || result_.step_time_ns == 0) return;
    result_.steady_step = mean_of(typical_, gaps_, launches);
  }

  // Of one step of each rank, with the gaps within it.
  SteadyStep mean_of(const std::map<std::int32_t, traces::Interval>& steps,
                     const std::map<std::int32_t, RankGaps>& its_gaps,
                     const Launches& launches) const {
    SteadyStep mean;
    std::vector<IdleGap> gaps;
    for (const auto& [rank, within] : steps) {
      const TimeBreakdown time = ranks_.at(rank).all.build(within);
      for (const auto field : kTimes) mean.time.*field = bounded_sum(mean.time.*field, time.*field);
      const auto& idle = its_gaps.at(rank).idle;
      gaps.insert(gaps.end(), idle.begin(), idle.end());
    }
    const auto ranks = static_cast<std::int64_t>(steps.size());
    for (const auto field : kTimes) mean.time.*field /= ranks;
    mean.causes = idle_causes(trace_, gaps);
    for (IdleCause& cause : mean.causes) cause.ns /= ranks;
    mean.work = step_work(trace_, launches, steps);
    return mean;
  }

  void add_slowest_step(const Launches& launches) {
    if (!result_.steady_step) return;
    std::map<std::int32_t, std::map<std::int32_t, traces::Interval>> steps;  // by step, rank
    for (const auto& [rank_and_step, within] : device_steps_) {
      const auto [rank, step] = rank_and_step;
      const auto& steady = result_.steady_steps;
      if (is_there(within.end_ns) && std::binary_search(steady.begin(), steady.end(), step)) {
        steps[step][rank] = within;
      }
    }
    if (steps.size() < kStepsToCompare) return;
    SlowestStep slowest;
    std::vector<std::int64_t> durations;
    for (const auto& [step, ranks] : steps) {
      std::int64_t longest = 0;
      for (const auto& [rank, within] : ranks) {
        longest = std::max(longest, within.end_ns - within.start_ns);
      }
      durations.push_back(longest);
      if (longest > slowest.duration_ns) {
        slowest.step = step;
        slowest.duration_ns = longest;
      }
    }
    slowest.median_ns = median(std::move(durations));
    if (static_cast<double>(slowest.duration_ns) <=
        kSlowStep * static_cast<double>(slowest.median_ns)) {
      return;
    }
    const auto& its = steps.at(slowest.step);
    slowest.parts = mean_of(its, compute_gaps(trace_, launches, its), launches);
    slowest.difference = largest_difference(slowest.parts, *result_.steady_step);
    result_.slowest_step = std::move(slowest);
  }

  void add_rank(std::int32_t rank, const RankEvents& events) {
    MemoryHistory history = replay_memory(trace_, memory_[rank], memory_span_);

    RankAnalysis& analysis = result_.ranks.emplace_back();
    analysis.rank = rank;
    analysis.events = events.events;
    analysis.time = events.all.build();
    if (const auto found = gaps_.find(rank); found != gaps_.end())
      analysis.gaps = found->second.sums;
    if (const auto found = launches_.find(rank); found != launches_.end()) {
      analysis.launches = found->second;
    }
    analysis.peak = std::move(history.peak);
    analysis.memory_timeline = std::move(history.timeline);
    analysis.ran_out = history.ran_out;
    analysis.misfit_memory_events = history.unmatched;
    for (const traces::Step& step : trace_.steps) {
      if (step.rank != rank) continue;
      StepAnalysis& in_step = analysis.steps.emplace_back();
      in_step.step = step.step;
      in_step.label = trace_.strings[step.label];
      in_step.start_ns = step.start_ns;
      in_step.duration_ns = step.end_ns - step.start_ns;
      const auto device = device_steps_.find({rank, step.step});
      in_step.is_whole =
          is_there(device == device_steps_.end() ? step.end_ns : device->second.end_ns);
      if (const auto found = events.steps.find(step.step); found != events.steps.end()) {
        in_step.time = found->second.build();
        const auto within = device_steps_.find({rank, step.step});
        if (within != device_steps_.end() && in_step.is_whole) {
          in_step.whole = found->second.build(within->second);
        }
      }
      if (const auto found = events.host_wait_ns.find(step.step);
          found != events.host_wait_ns.end()) {
        in_step.host_wait_ns = found->second;
      }
      if (const auto found = history.steps.find(step.step); found != history.steps.end()) {
        in_step.peak_allocated_bytes = found->second.allocated_bytes;
        in_step.peak_reserved_bytes = found->second.reserved_bytes;
        in_step.peak_host_bytes = found->second.host_bytes;
      }
    }
  }

  // Over the last step of all ranks that have it, with what its devices do after their hosts, or from the first
  // event to the last.
  void find_path(const Launches& launches) {
    std::int64_t start = std::numeric_limits<std::int64_t>::max(), end = 0;
    std::int32_t last = 0;
    for (const traces::Step& step : trace_.steps) last = std::max(last, step.step);
    for (const traces::Step& step : trace_.steps) {
      if (step.step != last) continue;
      const auto on_device = device_steps_.find({step.rank, step.step});
      const traces::Interval device =
          on_device == device_steps_.end() ? traces::Interval{} : on_device->second;
      start = std::min(start, std::max(step.start_ns, device.start_ns));
      end = std::max({end, step.end_ns, device.end_ns});
    }
    if (trace_.steps.empty()) {
      for (const traces::Event& e : trace_.events) {
        start = std::min(start, e.start_ns);
        end = std::max(end, e.end_ns);
      }
    }
    result_.path = critical_path(trace_, launches, start, end);
  }

  void count_missing_ranks() {
    const std::int64_t expected = traces::integer(trace_.metadata, "ranks", 0);
    const auto here = static_cast<std::int64_t>(result_.ranks.size());
    result_.recorded_ranks = traces::integer(trace_.metadata, "recorded_ranks", here);
    if (expected > result_.recorded_ranks && !trace_.metadata.contains("rank_classes")) {
      result_.missing_ranks = expected - result_.recorded_ranks;
    }
  }

  std::string text(const std::string& key) const {
    const auto found = trace_.metadata.find(key);
    return found == trace_.metadata.end() ? std::string() : found->second;
  }

  const traces::Trace& trace_;
  const std::stop_token& stop_;
  Analysis result_;
  std::map<std::int32_t, RankEvents> ranks_;
  std::map<std::int32_t, RankGaps> gaps_;
  std::map<std::int32_t, traces::Interval>
      typical_;  // of each rank, its steady step of median time
  std::map<std::pair<std::int32_t, std::int32_t>, traces::Interval> device_steps_;  // by rank, step
  std::map<std::int32_t, LaunchStatistics> launches_;
  std::map<std::int32_t, traces::MemoryEventSpan> memory_;
  traces::Interval memory_span_;
};

}  // namespace

Analysis analyse(const traces::Trace& trace, const std::stop_token& stop) {
  return Analyser(trace, stop).analyse();
}

}  // namespace foreshard::profiler
