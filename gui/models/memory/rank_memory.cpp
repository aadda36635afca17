#include "gui/models/memory/rank_memory.hpp"

#include <algorithm>

#include "traces/allocator/trace_history.hpp"

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
  if (number >= prediction.class_of_rank.size()) return std::nullopt;
  const auto& of_rank =
      prediction.classes[static_cast<std::size_t>(prediction.class_of_rank[number])];
  simulator::MemoryOptions options;
  options.steps = prediction.engine.steps;
  options.capacity = prediction.capacity;
  return simulator::explain_peak(of_rank.program, prediction.allocator, options,
                                 of_rank.memory.peak);
}

}  // namespace

std::optional<std::int64_t> memory_capacity(const MemorySource& source, int rank) {
  if (source.prediction != nullptr) return source.prediction->capacity;
  const auto history = traces::history_of(*source.trace, rank, "trace");
  return history ? history->capacity : std::nullopt;
}

RankMemory::RankMemory(const MemorySource& source, int rank)
    : trace_(source.trace),
      curve_(std::make_shared<MemoryCurve>(*trace_, rank)),
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

MomentOfRank RankMemory::moment(std::size_t sample) const {
  const std::size_t events = curve_->events(sample);
  const AllocatorState state = states_.after(events);
  return {sample, memory_moment(*trace_, states_, work_, state, events), block_map(*trace_, state)};
}

}  // namespace foreshard::gui
