#include <cmath>
#include <cstdlib>

#include "models/base/figures.hpp"
#include "simulator/search/fronts.hpp"
#include "simulator/search/search_report.hpp"

namespace foreshard::simulator {

std::string machine_name(const SearchTarget& target) {
  return target.machine == nullptr ? "this machine" : target.machine->id;
}

std::string target_name(const SearchTarget& target) {
  return machine_name(target) + " x " + std::to_string(target.gpus);
}

std::vector<PlanDifference> differences(const FoundPlan& best, const FoundPlan& other) {
  std::vector<PlanDifference> found;
  const std::vector<SpeltKey> first = spelt_keys(best.plan), second = spelt_keys(other.plan);
  for (std::size_t k = 0; k < first.size(); ++k) {
    if (first[k].value != second[k].value) {
      found.push_back({first[k].name, first[k].value, second[k].value});
    }
  }
  return found;
}

std::set<std::string> keys_that_differ(const std::vector<FoundPlan>& plans) {
  std::set<std::string> keys;
  for (const FoundPlan& plan : plans) {
    for (const auto& [key, value] : plan.values) {
      if (value != plans.front().values.at(key)) keys.insert(key);
    }
  }
  return keys;
}

std::string runner_up_text(const SearchAnswer& answer, Objective objective) {
  if (answer.top.size() < 2) return "";
  const FoundPlan &best = answer.top[0], &second = answer.top[1];
  const auto loss = [&](const FoundPlan& plan) {
    return loss_of(objective, plan.target, plan.kept_tokens_per_s_at(plan.step_time),
                   plan.step_time);
  };
  const double more = loss(second) / loss(best) - 1;
  const char* const what = objective == Objective::cost ? "dearer" : "slower";
  std::string text = "The runner-up ";
  if (std::isinf(more)) {
    text += "has no known price";
  } else if (more > 0) {
    text += "is " + formatted(more < 1 ? "%.2g %% %s" : "%.0f %% %s", 100 * more, what);
  } else {
    text += "is as good by the objective";
  }
  const std::int64_t bytes = second.peak_reserved - best.peak_reserved;
  if (bytes != 0) {
    text += " and reserves " + binary_bytes(std::abs(bytes)) + (bytes > 0 ? " more" : " less");
  }
  text += ". It";
  std::string list;
  if (target_name(best.target) != target_name(second.target)) {
    list = " runs on " + target_name(second.target) + " instead of " + target_name(best.target);
  }
  for (const PlanDifference& difference : differences(best, second)) {
    list += (list.empty() ? " has " : ", ") + difference.key + " = " + difference.other +
            " instead of " + difference.best;
  }
  return text + (list.empty() ? " is the same plan" : list) + ".";
}

}  // namespace foreshard::simulator
