// Bounds of what a plan can reach, without its own prediction: no step is shorter and no rank reserves
// less. A candidate whose bound is beaten need not be predicted.
//
// A plan has two parts that do not know of each other. Its work: which kernels a micro-step launches for
// the model's own operators, and which activations those hold. Its state: how parameters,
// gradients and optimizer states are sharded, gathered and updated. Each part is lowered once, with the
// other part's keys at neutral values, for all plans that have it in common; a state with the
// micro-steps that differ stands for any number of them. Then
//
//   step time  >=  micro-steps x the kernels of the work's operators + the optimizer's,  all on one stream
//   step time  >=  the collectives of any one communicator, which run one after the other
//   memory     >=  in forward, in the loss and in backward: the least that the state holds throughout it + the
//                  most that the work's operators hold at once
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "models/program/step_program.hpp"
#include "simulator/search/candidates.hpp"
#include "simulator/search/evaluation.hpp"
#include "simulator/search/plan_parts.hpp"

namespace foreshard::simulator {

struct PlanBound {
  std::int64_t step_ns = 0;
  std::int64_t reserved = 0;                                // bytes, of the rank that reserves most
  double tokens = std::numeric_limits<double>::infinity();  // of a step, of all ranks together

  double tokens_per_s() const {
    return tokens / static_cast<double>(std::max<std::int64_t>(1, step_ns)) * 1e9;
  }
};

// Of forward, loss and backward.
constexpr std::size_t kStages = 3;
using StageBytes = std::array<std::int64_t, kStages>;

// By the targets of a kind.
using PlanBounds = std::vector<PlanBound>;

// Bounds of the plans of a space on targets of one kind.
class Bounds {
 public:
  Bounds(const SearchRequest& request, const TargetKind& kind, const Candidates& candidates);

  // Of a plan that is a candidate, of these choices; nothing bounds one whose parts cannot be lowered alone.
  PlanBounds of(const std::vector<std::size_t>& choices, const Plan& plan);

 private:
  // Of a part that was lowered, on one target; apart what a micro-step does that stands for several.
  struct PartBound {
    StageBytes bytes{}, bytes_repeated{};
    std::int64_t stream_ns = 0;                             // of the compute stream
    std::vector<std::int64_t> group_ns, group_ns_repeated;  // of communicators, by Group
  };
  using PartBounds = std::vector<PartBound>;  // by target; empty: the part is no job by itself

  const PartBounds& part(PlanPart part, const std::vector<std::size_t>& choices, const Plan& plan);
  // `bound` with its times.
  PartBound priced(PlanPart part, const Job& job, std::size_t target, const ProgramCosts& counted,
                   PartBound bound);

  const TargetKind& kind_;
  TargetCosts costs_;
  KindJobs jobs_;
  // By part, axis and choice: the first choice that is the same to the part.
  std::array<std::vector<std::vector<std::size_t>>, kPlanParts> same_choice_;
  std::array<std::map<std::vector<std::size_t>, PartBounds>, kPlanParts> parts_;
  RankProgram program_;  // the last part's, whose memory the next one takes over
};

}  // namespace foreshard::simulator
