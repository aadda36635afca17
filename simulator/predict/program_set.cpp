#include "simulator/predict/program_set.hpp"

#include "models/lowering/lower.hpp"
#include "models/program/check_set.hpp"
#include "models/sharding/pytorch_device.hpp"
#include "models/sharding/pytorch_support.hpp"
#include "simulator/predict/model_flops.hpp"

namespace foreshard::simulator {

ProgramSet program_set(RankPrograms programs) {
  ProgramSet set;
  set.is_staged = is_staged(programs);
  set.programs = std::move(programs.programs);
  set.class_of_rank = std::move(programs.class_of_rank);
  for (int rank = 0; rank < set.ranks(); ++rank) {
    const int number = set.class_of_rank[static_cast<std::size_t>(rank)];
    RankProgram& program = set.programs[static_cast<std::size_t>(number)];
    set.places.push_back(place_in(program.groups, rank));
    if (program.place.groups.empty()) program.place = set.places.back();
  }
  return set;
}

AllocatorRules allocator_rules_on(const std::optional<Machine>& machine, Plan plan) {
  if (describes_pytorch(plan.operators) && machine &&
      !has_expandable_segments(*machine, plan.pytorch)) {
    plan.allocator.expandable_segments = false;
  }
  return allocator_rules(plan);
}

ProgramSet lower_all(const Job& job, int ranks_per_node, std::vector<RankProgram> memory,
                     const RunVariant& run) {
  ProgramSet set;
  set.nodes = job.nodes;
  set.allocator = allocator_rules_on(job.machine, job.plan);
  set.gpu_timing = job.plan.pytorch.gpu_timing;
  set.tokens_per_step = static_cast<double>(tokens_per_step(job));
  set.model_flops_per_step = set.tokens_per_step * model_flops_per_token(job);
  set.compute_type = compute_type(job.plan);
  set.warnings = job.warnings;
  const std::vector<int> lowest_of = rank_classes(job, ranks_per_node);
  const std::vector<GroupInfo> groups = groups_of(job);
  for (int rank = 0; rank < job.ranks; ++rank) {
    set.places.push_back(place_in(groups, rank));
    const int lowest = lowest_of[static_cast<std::size_t>(rank)];
    if (lowest != rank) {
      set.class_of_rank.push_back(set.class_of_rank[static_cast<std::size_t>(lowest)]);
      continue;
    }
    const std::size_t number = set.programs.size();
    set.class_of_rank.push_back(static_cast<int>(number));
    RankProgram reused = number < memory.size() ? std::move(memory[number]) : RankProgram();
    set.programs.push_back(lower_repeating(job, rank, run, std::move(reused)));
  }
  const auto& lowered = set.programs[0].warnings;
  set.warnings.insert(set.warnings.end(), lowered.begin(), lowered.end());
  return set;
}

}  // namespace foreshard::simulator
