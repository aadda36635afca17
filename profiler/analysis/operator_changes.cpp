#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "profiler/analysis/comparison.hpp"
#include "profiler/analysis/operators.hpp"
#include "traces/input/bounded_sum.hpp"

namespace foreshard::profiler {
namespace {

std::int64_t steps_of(const traces::Trace& trace) {
  std::set<std::int32_t> steps;
  for (const traces::Step& step : trace.steps) steps.insert(step.step);
  return std::max<std::int64_t>(static_cast<std::int64_t>(steps.size()), 1);
}

}  // namespace

std::string_view OperatorChange::what() const {
  if (baseline_count == 0) return "appeared";
  if (candidate_count == 0) return "vanished";
  const std::int64_t difference = candidate_ns - baseline_ns;
  if (std::abs(difference) <= baseline_ns / 100) return "same";
  return difference > 0 ? "grew" : "shrank";
}

std::vector<OperatorChange> operator_changes(const traces::Trace& baseline,
                                             const traces::Trace& candidate) {
  std::map<std::pair<std::string, std::string>, OperatorChange> changes;
  const auto of = [&](const OperatorTotal& one) -> OperatorChange& {
    OperatorChange& change = changes[{one.name, one.category}];
    change.name = one.name;
    change.category = one.category;
    return change;
  };
  // Sums first: an operator has several totals, one of each of its costs.
  for (const OperatorTotal& one : operator_totals(baseline, OperatorNames::of_instructions)) {
    OperatorChange& change = of(one);
    change.baseline_count += static_cast<double>(one.count);
    change.baseline_ns = traces::bounded_sum(change.baseline_ns, one.self_ns);
  }
  for (const OperatorTotal& one : operator_totals(candidate, OperatorNames::of_instructions)) {
    OperatorChange& change = of(one);
    change.candidate_count += static_cast<double>(one.count);
    change.candidate_ns = traces::bounded_sum(change.candidate_ns, one.self_ns);
  }
  const std::int64_t before = steps_of(baseline), after = steps_of(candidate);
  std::vector<OperatorChange> result;
  for (auto& [key, change] : changes) {
    change.baseline_count /= static_cast<double>(before);
    change.baseline_ns /= before;
    change.candidate_count /= static_cast<double>(after);
    change.candidate_ns /= after;
    result.push_back(std::move(change));
  }
  std::stable_sort(
      result.begin(), result.end(), [](const OperatorChange& a, const OperatorChange& b) {
        return std::abs(a.candidate_ns - a.baseline_ns) > std::abs(b.candidate_ns - b.baseline_ns);
      });
  return result;
}

}  // namespace foreshard::profiler
