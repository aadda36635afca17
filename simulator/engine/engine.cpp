#include "simulator/engine/engine.hpp"

#include <utility>

#include "models/base/assertion.hpp"
#include "simulator/engine/engine_in_order.hpp"
#include "simulator/engine/engine_shared.hpp"

namespace foreshard::simulator {

std::int64_t communicator_id(const RankPlace& place, Group group, bool one_per_class) {
  const auto row = static_cast<std::int64_t>(group);
  if (one_per_class) return row;
  return place[group].first_rank * static_cast<std::int64_t>(place.groups.size()) + row;
}

RankTimeline unrolled(const RankTimeline& timeline, const RankProgram& program) {
  RankTimeline result;
  result.step_end_ns = timeline.step_end_ns;
  auto repeated = timeline.repeated.begin();
  for (std::size_t step = 0; step + 1 < timeline.first_span.size(); ++step) {
    const Program& instructions = program.step(static_cast<std::int64_t>(step));
    result.first_span.push_back(result.spans.size());
    auto at = timeline.spans.begin() + static_cast<std::ptrdiff_t>(timeline.first_span[step]);
    const auto end =
        timeline.spans.begin() + static_cast<std::ptrdiff_t>(timeline.first_span[step + 1]);
    if (repeated != timeline.repeated.end() && repeated->first < timeline.first_span[step + 1]) {
      const auto copy = timeline.spans.begin() + static_cast<std::ptrdiff_t>(repeated->first);
      const auto copy_end = copy + static_cast<std::ptrdiff_t>(repeated->count);
      result.spans.insert(result.spans.end(), at, copy_end);
      for (std::int64_t n = 1; n <= repeated->times; ++n) {
        auto i = instructions.instructions.begin() + instructions.repetition.begin;
        for (auto span = copy; span != copy_end; ++span, ++i) {
          const std::int64_t host = n * repeated->host_ns;
          const std::int64_t work = runs_on_stream(i->kind) ? n * repeated->stream_ns : host;
          result.spans.push_back({span->issue + host, span->start + work, span->end + work});
        }
      }
      at = copy_end;
      ++repeated;
    }
    result.spans.insert(result.spans.end(), at, end);
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
