#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <vector>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/breakdown.hpp"
#include "profiler/analysis/memory.hpp"
#include "profiler/analysis/operators.hpp"
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
    result_.end_reason = text("end_reason");
    result_.not_recorded = text("not_recorded");
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
    gaps_ = compute_gaps(trace_, launches);
    if (is_stopped()) return;
    launches_ = launch_statistics(trace_, launches);
    for (const auto& [rank, events] : ranks_) {
      if (is_stopped()) return;
      add_rank(rank, events);
    }
    if (is_stopped()) return;
    result_.operators = operator_totals(trace_);
    result_.cost_sources = cost_source_totals(trace_);
    if (is_stopped()) return;
    result_.collectives = collective_costs(trace_);
    if (is_stopped()) return;
    result_.waits = rank_waits(trace_);
    if (is_stopped()) return;
    find_path(launches);
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

  void add_rank(std::int32_t rank, const RankEvents& events) {
    MemoryHistory history = replay_memory(trace_, memory_[rank], memory_span_);

    RankAnalysis& analysis = result_.ranks.emplace_back();
    analysis.rank = rank;
    analysis.events = events.events;
    analysis.time = events.all.build();
    if (const auto found = gaps_.find(rank); found != gaps_.end()) analysis.gaps = found->second;
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
      if (const auto found = events.steps.find(step.step); found != events.steps.end()) {
        in_step.time = found->second.build();
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

  // Over the last step of all ranks that have it, or from the first event to the last.
  void find_path(const Launches& launches) {
    std::int64_t start = std::numeric_limits<std::int64_t>::max(), end = 0;
    std::int32_t last = 0;
    for (const traces::Step& step : trace_.steps) last = std::max(last, step.step);
    for (const traces::Step& step : trace_.steps) {
      if (step.step != last) continue;
      start = std::min(start, step.start_ns);
      end = std::max(end, step.end_ns);
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
    if (expected > here && !trace_.metadata.contains("rank_classes")) {
      result_.missing_ranks = expected - here;
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
  std::map<std::int32_t, ComputeGaps> gaps_;
  std::map<std::int32_t, LaunchStatistics> launches_;
  std::map<std::int32_t, traces::MemoryEventSpan> memory_;
  traces::Interval memory_span_;
};

}  // namespace

Analysis analyse(const traces::Trace& trace, const std::stop_token& stop) {
  return Analyser(trace, stop).analyse();
}

}  // namespace foreshard::profiler
