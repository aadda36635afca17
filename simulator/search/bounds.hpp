// Bounds of what a plan can reach, without its own prediction: no step is shorter and no rank reserves
// less. A candidate whose bound is beaten need not be predicted.
//
// A plan has two parts that do not know of each other. Its work: which kernels a micro-step launches for
// the model's own arithmetic, and which activations it keeps until backward. Its state: how parameters,
// gradients and optimizer states are sharded, gathered and updated. Each part is lowered once, with the
// other part's keys at neutral values, for all plans that have it in common. Then
//
//   step time  >=  micro-steps x the work's arithmetic + the optimizer's kernels,  all on one stream
//   step time  >=  the collectives of any one communicator, which run one after the other
//   memory     >=  what the state holds throughout a step + the work's most activations
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "models/program/step_program.hpp"
#include "simulator/search/candidates.hpp"
#include "simulator/search/evaluation.hpp"
#include "simulator/search/plan_parts.hpp"

namespace foreshard::simulator {

struct PlanBound {
  std::int64_t step_ns = 0;
  std::int64_t reserved = 0;  // bytes, of the rank that reserves most
};

class Bounds {
 public:
  Bounds(const SearchRequest& request, const Candidates& candidates);

  // Of a plan that is a candidate on this target of a kind; nothing bounds one whose parts cannot be
  // lowered alone.
  PlanBound of(std::size_t number, const Plan& plan, const TargetKind& kind, std::size_t target);

 private:
  // Of a part that was lowered, for one kind of targets.
  struct PartBound {
    std::int64_t bytes = 0;
    std::map<std::size_t, std::int64_t> stream_ns;        // by target: of the compute stream
    std::map<std::size_t, std::int64_t> communicator_ns;  // by target: of the busiest one
  };
  using Parts = std::map<std::vector<std::size_t>, std::optional<PartBound>>;

  const PartBound* part(PlanPart part, const std::vector<std::size_t>& digits, const Plan& plan,
                        const TargetKind& kind);
  void price(PartBound& bound, PlanPart part, const Job& job, std::size_t target);

  const SearchRequest& request_;
  const Candidates& candidates_;
  TargetCosts costs_;
  Parts works_, states_;
  RankProgram program_;  // the last part's, whose memory the next one takes over
};

}  // namespace foreshard::simulator
