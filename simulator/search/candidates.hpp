// The plans of a space: every combination of its axes' values, over a base plan.
//
// Plans are numbered; the last axis varies fastest. The allocator's settings come last, since plans that
// differ in them alone have the same programs: they stand together, as a family. A combination that
// says the same as another one, because a key has no effect in it, is left out but for the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/plan/plan_setting.hpp"

namespace foreshard::simulator {

class Candidates {
 public:
  // `tokens_per_step`: accumulation is what makes it so, for the ranks that a plan is asked for.
  // `file` of the base plan, for messages.
  Candidates(Plan base, std::string file, std::vector<PlanAxis> axes,
             std::optional<std::int64_t> tokens_per_step);

  std::size_t plans() const { return families_ * family_size_; }
  std::size_t families() const { return families_; }
  std::size_t family_size() const { return family_size_; }

  // An error where the combination is no candidate: its values contradict each other, it is another one
  // again, or no whole number of micro-steps makes the tokens. Whether the model and the ranks allow it
  // stays open.
  Result<Plan> plan(std::size_t number, int ranks) const;

  const std::vector<PlanAxis>& axes() const { return axes_; }
  // The value that each axis has there.
  std::vector<std::size_t> digits(std::size_t number) const;
  // The keys that vary, with their values as a plan file spells them.
  std::map<std::string, std::string> values(std::size_t number, const Plan& plan) const;

 private:
  Plan base_;
  std::string file_;
  std::vector<PlanAxis> axes_;
  std::optional<std::int64_t> tokens_per_step_;
  std::size_t families_ = 1, family_size_ = 1;
};

}  // namespace foreshard::simulator
