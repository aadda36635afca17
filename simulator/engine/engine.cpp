#include "simulator/engine/engine.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/base/assertion.hpp"
#include "simulator/engine/engine_shared.hpp"
#include "simulator/engine/rank_walk.hpp"
#include "simulator/engine/step_spans.hpp"

namespace foreshard::simulator {
namespace {

// The engine without sharing: one pass over each program, see engine.hpp.

CommunicatorClock& find(std::vector<CommunicatorClock>& communicators, std::int64_t id) {
  for (CommunicatorClock& c : communicators) {
    if (c.id == id) return c;
  }
  return communicators.emplace_back(CommunicatorClock{id, 0, 0});
}

std::vector<RankTimeline> simulate_in_order(std::span<const SimulatedRank> ranks,
                                            const EngineOptions& options,
                                            std::vector<RankTimeline> memory) {
  std::vector<CommunicatorClock> communicators;
  std::vector<RankWalk> walks;
  walks.reserve(ranks.size());
  memory.resize(ranks.size());
  for (const SimulatedRank& rank : ranks) {
    walks.emplace_back(rank, options, std::move(memory[walks.size()]),
                       ranks.size() == 1 ? &communicators : nullptr);
    for (std::size_t g = 0; g < rank.place.groups.size(); ++g) {
      const auto group = static_cast<Group>(g);
      ++find(communicators, communicator_id(rank.place, group, options.simulated)).members;
    }
  }
  for (RankWalk& walk : walks) walk.advance();

  for (;;) {
    bool progress = false, waiting = false;
    for (RankWalk& walk : walks) {
      if (!walk.at_collective()) continue;
      waiting = true;
      CommunicatorClock& communicator = find(communicators, walk.communicator());
      std::size_t arrived = 0;
      std::int64_t start = communicator.free_at;
      for (const RankWalk& other : walks) {
        if (!other.at_collective() || other.communicator() != communicator.id) continue;
        ++arrived;
        start = std::max(start, other.arrival());
      }
      if (arrived < communicator.members) continue;
      start += options.host.rendezvous_ns;
      std::int64_t end = start;
      for (const RankWalk& other : walks) {
        if (!other.at_collective() || other.communicator() != communicator.id) continue;
        end = std::max(end, other.end_of_collective(start));
      }
      communicator.free_at = end;
      for (RankWalk& other : walks) {
        if (!other.at_collective() || other.communicator() != communicator.id) continue;
        other.pass_collective(start, end);
        other.advance();
      }
      progress = true;
    }
    if (!waiting) break;
    if (!progress) {
      if (options.stop_step >= 0) break;  // cut short: some members never get there
      throw std::logic_error("the ranks' programs wait for each other's collectives forever");
    }
  }
  for (std::size_t w = 0; w < walks.size(); ++w) memory[w] = walks[w].take();
  return memory;
}

}  // namespace

std::int64_t communicator_id(const RankPlace& place, Group group, Simulated simulated) {
  const auto row = static_cast<std::int64_t>(group);
  if (simulated == Simulated::one_per_class) return row;
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
