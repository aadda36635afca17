#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/breakdown.hpp"
#include "profiler/analysis/format.hpp"
#include "profiler/analysis/memory.hpp"
#include "profiler/analysis/saturating.hpp"
#include "traces/metadata.hpp"

namespace foreshard::profiler {
namespace {

using traces::EventKind;

bool is_operator(EventKind kind) {
  return traces::is_device_work(kind) || kind == EventKind::host_compute;
}

// What a trace's events say about one rank, before anything is counted.
struct RankEvents {
  std::int64_t events = 0;
  BreakdownBuilder all;
  std::map<std::int32_t, BreakdownBuilder> steps;
  std::map<std::int32_t, std::int64_t> host_wait_ns;
};

class Analyser {
 public:
  explicit Analyser(const traces::Trace& trace) : trace_(trace), memory_(by_rank(trace)) {}

  Analysis analyse() {
    result_.complete = trace_.complete;
    result_.complete_until_ns = trace_.complete_until_ns;
    result_.predicted = traces::integer(trace_.metadata, "predicted", 0) != 0;
    result_.step_time_ns = steady_step_time(trace_);
    for (const auto& [reason, records] : trace_.dropped) {
      result_.dropped_records = saturating_sum(result_.dropped_records, records);
    }
    warn_of_recording();
    sort_events();
    for (const auto& [rank, events] : ranks_) add_rank(rank, events);
    warn_of_ranks();
    return std::move(result_);
  }

 private:
  void sort_events() {
    for (const traces::Lane& lane : trace_.lanes) ranks_.try_emplace(lane.rank);
    for (const auto& e : trace_.memory) ranks_.try_emplace(e.rank);
    std::map<std::tuple<EventKind, traces::StringId>, OperatorTotal> operators;
    for (const traces::Event& e : trace_.events) {
      RankEvents& rank = ranks_[trace_.lanes[static_cast<std::size_t>(e.lane)].rank];
      ++rank.events;
      if (traces::is_device_work(e.kind)) {
        rank.all.add(e);
        rank.steps[e.step].add(e);
      }
      if (e.kind == EventKind::host_wait) {
        auto& waited = rank.host_wait_ns[e.step];
        waited = saturating_sum(waited, e.end_ns - e.start_ns);
      }
      if (is_operator(e.kind)) {
        OperatorTotal& total = operators[{e.kind, e.name}];
        ++total.count;
        total.total_ns = saturating_sum(total.total_ns, e.end_ns - e.start_ns);
      }
    }
    for (auto& [key, total] : operators) {
      total.category = name(std::get<0>(key));
      total.name = trace_.strings[std::get<1>(key)];
      result_.operators.push_back(std::move(total));
    }
    std::sort(result_.operators.begin(), result_.operators.end(),
              [](const OperatorTotal& a, const OperatorTotal& b) {
                return std::tie(b.total_ns, a.name) < std::tie(a.total_ns, b.name);
              });
  }

  void add_rank(std::int32_t rank, const RankEvents& events) {
    const MemoryHistory history = replay_memory(trace_, memory_[rank]);

    RankAnalysis& analysis = result_.ranks.emplace_back();
    analysis.rank = rank;
    analysis.events = events.events;
    analysis.time = events.all.build();
    analysis.peak = history.peak;
    for (const traces::Step& step : trace_.steps) {
      if (step.rank != rank) continue;
      StepAnalysis& in_step = analysis.steps.emplace_back();
      in_step.step = step.step;
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
      }
    }
    if (history.unmatched > 0) {
      warn(std::to_string(history.unmatched) + " memory events of rank " + std::to_string(rank) +
           " do not fit those before them: its memory figures are too low or too high");
    }
    if (history.ran_out) warn("rank " + std::to_string(rank) + " ran out of device memory");
  }

  void warn_of_recording() {
    if (!trace_.complete) {
      warn("this recording is incomplete: nothing is missing before " +
           milliseconds(trace_.complete_until_ns) + ", what came later may be");
    }
    for (const auto& [reason, records] : trace_.dropped) {
      if (records > 0) warn(std::to_string(records) + " records are missing: " + reason);
    }
    const auto reason = trace_.metadata.find("end_reason");
    if (reason != trace_.metadata.end()) warn("the run ended early: " + reason->second);
  }

  void warn_of_ranks() {
    std::set<std::int32_t> seen;
    for (const RankAnalysis& rank : result_.ranks) {
      seen.insert(rank.rank);
      if (rank.time.device_events == 0) {
        warn("rank " + std::to_string(rank.rank) + " has no device events");
      }
    }
    const std::int64_t expected = traces::integer(trace_.metadata, "ranks", 0);
    const auto here = static_cast<std::int64_t>(seen.size());
    if (expected > here && !trace_.metadata.contains("rank_classes")) {
      warn("the run has " + std::to_string(expected) + " ranks, this trace holds " +
           std::to_string(here));
    }
  }

  void warn(std::string text) { result_.warnings.push_back(std::move(text)); }

  const traces::Trace& trace_;
  Analysis result_;
  std::map<std::int32_t, RankEvents> ranks_;
  std::map<std::int32_t, std::span<const traces::MemoryEvent>> memory_;
};

}  // namespace

Analysis analyse(const traces::Trace& trace) {
  return Analyser(trace).analyse();
}

}  // namespace foreshard::profiler
