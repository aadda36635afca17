// What a search has to look at: its candidates, by family and kind of targets, with their bounds.
//
// A family are the plans that differ in the allocator's settings alone, on the targets of one kind: all
// of them have the same programs.
#pragma once

#include <cstddef>
#include <vector>

#include "simulator/search/bounds.hpp"
#include "simulator/search/candidates.hpp"
#include "simulator/search/evaluation.hpp"

namespace foreshard::simulator {

// One plan on one target.
struct Member {
  std::size_t plan = 0;    // its number among the candidates
  std::size_t target = 0;  // index into the request's
  PlanBound bound = {};
  bool is_left_out = false;
};

struct Family {
  std::size_t kind = 0;         // index into the kinds of targets
  std::vector<Member> members;  // those of one plan together
};

// Targets on which no plan of the space can run.
struct KindWithoutPlans {
  std::size_t kind = 0;
  Error why;  // of the first combination
};

struct Families {
  std::vector<Family> all;
  std::size_t members = 0;
  std::vector<KindWithoutPlans> without_plans;
};

// All that the model, the plan's rules and the ranks allow, but what has the same programs as an earlier
// one. Bounds are made where `is_bounded`.
Families find_families(const SearchRequest& request, const std::vector<TargetKind>& kinds,
                       const Candidates& candidates, bool is_bounded);

}  // namespace foreshard::simulator
