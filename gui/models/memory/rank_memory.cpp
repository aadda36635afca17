#include "gui/models/memory/rank_memory.hpp"

#include <algorithm>

#include "gui/models/memory/memory_curves.hpp"
#include "traces/allocator/trace_history.hpp"
#include "traces/metadata.hpp"

namespace foreshard::gui {
namespace {

const profiler::RankAnalysis* analysis_of(const MemorySource& source, int rank) {
  if (source.analysis == nullptr) return nullptr;
  const auto& ranks = source.analysis->ranks;
  const auto found = std::find_if(ranks.begin(), ranks.end(),
                                  [rank](const auto& each) { return each.rank == rank; });
  return found == ranks.end() ? nullptr : &*found;
}

// Of the program of the rank; nothing where the trace was not predicted from one here.
std::optional<simulator::PeakExplanation> explanation_of(const MemorySource& source, int rank) {
  if (source.prediction == nullptr) return std::nullopt;
  const simulator::Prediction& prediction = *source.prediction;
  if (prediction.explanation && prediction.peak.rank == rank) return prediction.explanation;
  const auto number = static_cast<std::size_t>(rank);
  if (number >= prediction.run.class_of_rank.size()) return std::nullopt;
  const auto& of_rank =
      prediction.run.classes[static_cast<std::size_t>(prediction.run.class_of_rank[number])];
  const simulator::PeakMoment& peak = of_rank.memory.peak;
  simulator::MemoryOptions options = prediction.run.walk;
  options.keeps_records = false;
  options.lists_peak = true;
  options.stop = simulator::MemoryFailure{peak.step, peak.instruction, 0, 0, 0};
  return simulator::explain_peak(
      of_rank.program, simulate_memory(of_rank.program, prediction.run.allocator, options),
      options.steps);
}

}  // namespace

std::optional<std::int64_t> memory_capacity(const MemorySource& source, int rank) {
  if (source.prediction != nullptr) return source.prediction->capacity;
  const auto recorded = traces::integer(source.trace->metadata, "device_memory_bytes", 0);
  if (recorded > 0) return recorded;
  const auto history = traces::history_of(*source.trace, rank, "trace");
  return history ? history->capacity : std::nullopt;
}

RankMemory::RankMemory(const MemorySource& source, int rank)
    : trace_(source.trace),
      curve_(memory_curve(trace_, rank)),
      states_(trace_, rank),
      work_(*trace_, rank, DeviceWork::Of::every_stream),
      capacity_(memory_capacity(source, rank)) {
  if (is_empty()) {
    answer_ = no_memory_answer();
    return;
  }
  for (int n = 0; n < kMemoryClocks; ++n) {
    const auto clock = static_cast<MemoryClock>(n);
    if (curve_->has(clock)) {
      phases_[static_cast<std::size_t>(n)] = memory_phases(*trace_, *curve_, clock);
    }
  }
  const MomentOfRank peak = moment(curve_->peak());
  const auto explanation = explanation_of(source, rank);
  MemoryKnowledge known;
  known.analysis = analysis_of(source, rank);
  known.explanation = explanation ? &*explanation : nullptr;
  known.capacity = capacity_;
  known.is_predicted = source.is_predicted;
  answer_ = memory_answer(*curve_, known, peak.moment, peak.map);
}

std::optional<std::size_t> RankMemory::highest_in(traces::Interval step) const {
  const MemoryColumns shown =
      curve_->columns(time_clock(), std::vector{step.start_ns, step.end_ns + 1});
  if (shown.samples[0] == MemoryColumns::kNothing) return std::nullopt;
  return shown.samples[0];
}

std::size_t RankMemory::peak_near(traces::Interval step) const {
  const auto highest = highest_in(step);
  const bool is_peak = highest && curve_->allocated(*highest) == curve_->allocated(curve_->peak());
  return is_peak ? *highest : curve_->peak();
}

std::size_t RankMemory::opening_sample(std::optional<std::int64_t> cursor_ns,
                                       traces::Interval step) const {
  if (cursor_ns) return curve_->sample_at(time_clock(), *cursor_ns).value_or(0);
  if (curve_->failure()) return *curve_->failure();
  if (curve_->best_clock() == MemoryClock::event_order) return curve_->peak();
  return highest_in(step).value_or(curve_->peak());
}

MomentOfRank RankMemory::moment(std::size_t sample, std::optional<std::size_t> since) const {
  const std::size_t events = curve_->events(sample);
  const AllocatorState state = states_.after(events);
  MomentOfRank found{
      sample, memory_moment(*trace_, states_, work_, state, events), block_map(*trace_, state), {}};
  if (since) {
    const AllocatorState before = states_.after(curve_->events(*since));
    found.since = {*since, memory_difference(*trace_, work_, before, state),
                   before.tally.device_blocks()};
  }
  return found;
}

}  // namespace foreshard::gui
