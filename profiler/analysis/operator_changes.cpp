#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "profiler/analysis/comparison.hpp"
#include "profiler/analysis/operators.hpp"

namespace foreshard::profiler {
namespace {

std::int64_t steps_of(const traces::Trace& trace) {
  std::set<std::int32_t> steps;
  for (const traces::Step& step : trace.steps) steps.insert(step.step);
  return std::max<std::int64_t>(static_cast<std::int64_t>(steps.size()), 1);
}

}  // namespace

std::string_view OperatorChange::what() const {
  if (measured_count == 0) return "appeared";
  if (predicted_count == 0) return "vanished";
  const std::int64_t difference = predicted_ns - measured_ns;
  if (std::abs(difference) <= measured_ns / 100) return "same";
  return difference > 0 ? "grew" : "shrank";
}

std::vector<OperatorChange> operator_changes(const traces::Trace& measured,
                                             const traces::Trace& predicted) {
  std::map<std::pair<std::string, std::string>, OperatorChange> changes;
  const auto of = [&](const OperatorTotal& one) -> OperatorChange& {
    OperatorChange& change = changes[{one.name, one.category}];
    change.name = one.name;
    change.category = one.category;
    return change;
  };
  const std::int64_t before = steps_of(measured), after = steps_of(predicted);
  for (const OperatorTotal& one : operator_totals(measured)) {
    OperatorChange& change = of(one);
    change.measured_count = static_cast<double>(one.count) / static_cast<double>(before);
    change.measured_ns = one.self_ns / before;
  }
  for (const OperatorTotal& one : operator_totals(predicted)) {
    OperatorChange& change = of(one);
    change.predicted_count = static_cast<double>(one.count) / static_cast<double>(after);
    change.predicted_ns = one.self_ns / after;
  }
  std::vector<OperatorChange> result;
  for (auto& [key, change] : changes) result.push_back(std::move(change));
  std::stable_sort(
      result.begin(), result.end(), [](const OperatorChange& a, const OperatorChange& b) {
        return std::abs(a.predicted_ns - a.measured_ns) > std::abs(b.predicted_ns - b.measured_ns);
      });
  return result;
}

}  // namespace foreshard::profiler
