#include "simulator/engine/engine.hpp"

#include <utility>

#include "models/base/assertion.hpp"
#include "simulator/engine/engine_in_order.hpp"
#include "simulator/engine/engine_shared.hpp"
#include "simulator/engine/step_spans.hpp"

namespace foreshard::simulator {

std::int64_t communicator_id(const RankPlace& place, Group group, bool one_per_class) {
  const auto row = static_cast<std::int64_t>(group);
  if (one_per_class) return row;
  return place[group].first_rank * static_cast<std::int64_t>(place.groups.size()) + row;
}

RankTimeline unrolled(const RankTimeline& timeline, const RankProgram& program) {
  RankTimeline result;
  result.step_end_ns = timeline.step_end_ns;
  for (std::size_t step = 0; step + 1 < timeline.first_span.size(); ++step) {
    result.first_span.push_back(result.spans.size());
    const StepSpans all(timeline, program.step(static_cast<std::int64_t>(step)), step, kEveryCopy);
    for (std::size_t n = 0; n < all.size(); ++n) result.spans.push_back(all[n]);
  }
  result.first_span.push_back(result.spans.size());
  return result;
}

std::vector<RankTimeline> simulate(std::span<const SimulatedRank> ranks,
                                   const EngineOptions& options, std::vector<RankTimeline> memory) {
  for (const SimulatedRank& rank : ranks) {
    for (const Program& step : rank.program->programs) {
      FORESHARD_ASSERT(!options.shares || step.repetition.more == 0,
                       "where tasks share, no copy of a repetition is like the one before");
    }
  }
  return options.shares ? simulate_shared(ranks, options)
                        : simulate_in_order(ranks, options, std::move(memory));
}

}  // namespace foreshard::simulator
