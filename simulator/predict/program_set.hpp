// What a prediction is made of: the programs that a job's ranks run, and the few facts of the job that
// stand in no program. Lowering is one maker of program sets; whoever has programs from elsewhere, of a
// model that cannot be lowered here, fills one by hand.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/allocator/allocator_rules.hpp"
#include "models/lowering/training/run_variant.hpp"
#include "models/plan/plan.hpp"
#include "models/program/program_json.hpp"
#include "models/program/step_program.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::simulator {

struct ProgramSet {
  // One for each class of ranks that run equal programs, in the order of the classes' lowest ranks.
  std::vector<RankProgram> programs;
  std::vector<int> class_of_rank;  // index into `programs`
  std::vector<RankPlace> places;   // by rank
  int nodes = 0;                   // over which the ranks are spread evenly; 0: unknown
  AllocatorRules allocator;
  GpuTiming gpu_timing = GpuTiming::ready;  // of frees that record_stream defers
  // For tokens/s and MFU, of all ranks together; 0: unknown.
  double tokens_per_step = 0, model_flops_per_step = 0;
  DType compute_type = DType::fp32;
  bool is_staged = false;  // programs differ in their collectives (check_set.hpp)
  std::vector<std::string> warnings;

  int ranks() const { return static_cast<int>(class_of_rank.size()); }
};

// Of programs from elsewhere, each for the ranks of its class. What they leave open of the job is
// unknown, the allocator's settings are the defaults.
ProgramSet program_set(RankPrograms programs);

// The rules of a plan's settings, as far as PyTorch has them there.
AllocatorRules allocator_rules_on(const std::optional<Machine>& machine, Plan plan);

// Every class lowered once, equal micro-steps as repetitions. Ranks whose groups are spread over
// different numbers of nodes are of
// different classes. `memory`: programs that are no longer wanted, whose memory these take over.
ProgramSet lower_all(const Job& job, int ranks_per_node, std::vector<RankProgram> memory = {},
                     const RunVariant& run = {});

}  // namespace foreshard::simulator
