#include "simulator/predict/simulated_run.hpp"

#include <utility>

namespace foreshard::simulator {

std::vector<RankProgram> take_programs(SimulatedRun& run) {
  std::vector<RankProgram> programs;
  for (RankClass& of : run.classes) programs.push_back(std::move(of.program));
  return programs;
}

std::vector<SimulatedRank> simulated_ranks(const SimulatedRun& run) {
  std::vector<SimulatedRank> ranks;
  for (std::size_t r = 0; r < run.simulated_ranks.size(); ++r) {
    const auto rank = static_cast<std::size_t>(run.simulated_ranks[r]);
    const RankClass& of = run.classes[static_cast<std::size_t>(run.class_of_rank[rank])];
    ranks.push_back({&of.program, of.costs.costs, of.memory.delays, run.places[r], of.issue});
  }
  return ranks;
}

}  // namespace foreshard::simulator
