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
  const MomentOfRank peak = moment(curve_->peak());
  answer_ = memory_answer(
      *curve_, {analysis_of(source, rank), source.prediction.get(), capacity_, source.is_predicted},
      peak.moment, peak.map);
}

MomentOfRank RankMemory::moment(std::size_t sample) const {
  const std::size_t events = curve_->events(sample);
  const AllocatorState state = states_.after(events);
  return {sample, memory_moment(*trace_, states_, work_, state, events), block_map(*trace_, state)};
}

}  // namespace foreshard::gui
