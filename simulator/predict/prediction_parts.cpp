#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

std::vector<RankProgram> take_programs(Prediction& prediction) {
  std::vector<RankProgram> programs;
  for (RankClass& of : prediction.classes) programs.push_back(std::move(of.program));
  return programs;
}

std::vector<SimulatedRank> simulated_ranks(const Prediction& prediction) {
  std::vector<SimulatedRank> ranks;
  for (std::size_t r = 0; r < prediction.simulated_ranks.size(); ++r) {
    const auto rank = static_cast<std::size_t>(prediction.simulated_ranks[r]);
    const RankClass& rank_class =
        prediction.classes[static_cast<std::size_t>(prediction.class_of_rank[rank])];
    ranks.push_back({&rank_class.program, rank_class.costs.costs, rank_class.memory.delays,
                     prediction.places[r], rank_class.issue});
  }
  return ranks;
}

}  // namespace foreshard::simulator
