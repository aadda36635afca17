// The plans of a space: every combination of its axes' choices, over a base plan.
//
// Plans are numbered; the last axis varies fastest. The allocator's settings come last, since plans that
// differ in them alone have the same programs: they stand together, as a family.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/plan/plan_space.hpp"

namespace foreshard::simulator {

// Combinations that a space may have: each is looked at, which takes some microseconds, and those that
// are candidates are kept.
constexpr std::size_t kMaxPlans = 100'000'000;

// An error that names the axes and how many choices each has where they have more combinations.
Result<void> check_size(const std::vector<PlanAxis>& axes);

class Candidates {
 public:
  // `tokens_per_step`: accumulation is what makes it so, for the ranks that a plan is asked for.
  // `file` of the base plan, for messages. The axes have at most kMaxPlans combinations.
  Candidates(Plan base, std::string file, std::vector<PlanAxis> axes,
             std::optional<std::int64_t> tokens_per_step);

  std::size_t plans() const { return families_ * family_size_; }
  std::size_t families() const { return families_; }
  std::size_t family_size() const { return family_size_; }

  // An error where the combination is no candidate: its values contradict each other, or no whole
  // number of micro-steps makes the tokens. Whether the model and the ranks allow it stays open.
  Result<Plan> plan(std::size_t number, int ranks) const;

  const std::vector<PlanAxis>& axes() const { return axes_; }
  // Which choice each axis has there.
  std::vector<std::size_t> choices(std::size_t number) const;
  // The keys that vary, with their values as a plan file spells them.
  std::map<std::string, std::string> values(const Plan& plan) const;

 private:
  Plan base_;
  std::string file_;
  std::vector<PlanAxis> axes_;
  std::optional<std::int64_t> tokens_per_step_;
  std::size_t families_ = 1, family_size_ = 1;
};

// What the programs of a plan depend on, of so many ranks spread evenly over nodes (0: unknown), so that
// plans with equal texts have equal programs: keys without effect are left out, and of several ways to
// say the same one is written. The allocator's settings are no part of it.
std::string program_key(Plan plan, int ranks, int nodes);

}  // namespace foreshard::simulator
