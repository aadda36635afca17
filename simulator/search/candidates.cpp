#include "simulator/search/candidates.hpp"

#include <algorithm>
#include <utility>

#include "models/base/figures.hpp"
#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_rules.hpp"

namespace foreshard::simulator {
namespace {

bool is_of_allocator(const PlanAxis& axis) {
  return std::all_of(axis.keys.begin(), axis.keys.end(),
                     [](const std::string& key) { return key.starts_with("allocator."); });
}

}  // namespace

Result<void> check_size(const std::vector<PlanAxis>& axes) {
  std::size_t plans = 1;
  std::string counts;
  for (const PlanAxis& axis : axes) {
    // Beyond the limit it grows no further, so that it cannot overflow.
    if (plans <= kMaxPlans) plans *= axis.choices.size();
    counts += (counts.empty() ? "" : " x ") + axis.name + " (" +
              std::to_string(axis.choices.size()) + ")";
  }
  if (plans <= kMaxPlans) return {};
  return fail("", "--space",
              "has too many combinations, " + counts + "; expected at most " +
                  with_thousands(static_cast<std::int64_t>(kMaxPlans)));
}

Candidates::Candidates(Plan base, std::string file, std::vector<PlanAxis> axes,
                       std::optional<std::int64_t> tokens_per_step)
    : base_(std::move(base)),
      file_(std::move(file)),
      axes_(std::move(axes)),
      tokens_per_step_(tokens_per_step) {
  std::stable_partition(axes_.begin(), axes_.end(),
                        [](const PlanAxis& axis) { return !is_of_allocator(axis); });
  for (const PlanAxis& axis : axes_) {
    (is_of_allocator(axis) ? family_size_ : families_) *= axis.choices.size();
  }
}

std::vector<std::size_t> Candidates::choices(std::size_t number) const {
  std::vector<std::size_t> chosen(axes_.size());
  for (std::size_t a = axes_.size(); a-- > 0; number /= axes_[a].choices.size()) {
    chosen[a] = number % axes_[a].choices.size();
  }
  return chosen;
}

Result<Plan> Candidates::plan(std::size_t number, int ranks) const {
  Plan plan = base_;
  const std::vector<std::size_t> chosen = choices(number);
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    for (const PlanSetting& setting : axes_[a].choices[chosen[a]]) setting.set_in(plan);
  }
  if (tokens_per_step_) {
    const std::int64_t of_micro_step = plan.tokens() * ranks;
    plan.batch.accumulation = *tokens_per_step_ / of_micro_step;
    const bool is_possible = *tokens_per_step_ % of_micro_step == 0;
    if (!is_possible || plan.batch.accumulation > kMaxAccumulation) {
      return fail("", "--tokens-per-step",
                  std::to_string(*tokens_per_step_) + " tokens are no 1 to " +
                      std::to_string(kMaxAccumulation) + " micro-steps of " +
                      std::to_string(of_micro_step) + " tokens on " + std::to_string(ranks) +
                      " ranks; expected a multiple of them");
    }
  }
  if (const auto broken = broken_rule(plan)) return fail(file_, broken->field, broken->message);
  return plan;
}

std::map<std::string, std::string> Candidates::values(const Plan& plan) const {
  std::map<std::string, std::string> values;
  for (const SpeltKey& key : spelt_keys(plan)) {
    const bool varies = std::any_of(axes_.begin(), axes_.end(),
                                    [&](const PlanAxis& axis) { return sets(axis, key.name); });
    if (varies || (tokens_per_step_ && key.name == "batch.accumulation")) {
      values[key.name] = key.value;
    }
  }
  return values;
}

}  // namespace foreshard::simulator
