#include "gui/models/comparison/causes.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <utility>

#include "profiler/report/short_names.hpp"

namespace foreshard::gui {

namespace {

bool is_on_device(const std::string& category) {
  using traces::EventKind;
  return std::ranges::any_of(
      std::array{EventKind::compute, EventKind::communication, EventKind::memory},
      [&](EventKind kind) { return category == traces::name(kind); });
}

}  // namespace

std::vector<Cause> causes_of(const profiler::Comparison& comparison) {
  std::vector<Cause> causes;
  for (const profiler::OperatorDifference& one : comparison.operators) {
    const auto events = static_cast<double>(one.events);
    causes.push_back(
        {one.name, {}, one.category, false, events, events, one.baseline_ns, one.candidate_ns});
  }
  if (causes.empty()) {
    for (const profiler::OperatorChange& one : comparison.changes) {
      causes.push_back({one.name,
                        {},
                        one.category,
                        false,
                        one.baseline_count,
                        one.candidate_count,
                        one.baseline_ns,
                        one.candidate_ns});
    }
  }
  std::map<std::pair<std::string, std::string>, std::set<CostSource>> sources;
  for (const profiler::OperatorTotal& one : comparison.candidate.operators) {
    sources[{one.name, one.category}] = one.cost_sources;
  }
  for (Cause& cause : causes) {
    cause.cost_sources = sources[{cause.name, cause.category}];
    cause.is_on_device = is_on_device(cause.category);
  }
  std::vector<std::string> names;
  for (const Cause& cause : causes) names.push_back(cause.name);
  names = profiler::short_names(names, 40);
  for (std::size_t n = 0; n < causes.size(); ++n)
    causes[n].label = QString::fromStdString(names[n]);
  return causes;
}

ShownCauses::ShownCauses(const std::vector<Cause>& all, bool are_on_device) {
  std::int64_t longest = 0, furthest = 0;
  for (const Cause& cause : all) {
    if (cause.is_on_device != are_on_device) continue;
    causes.push_back(cause);
    longest = std::max({longest, cause.baseline_ns, cause.candidate_ns});
    furthest = std::max(furthest, std::abs(cause.difference_ns()));
  }
  times = TimeScale(longest);
  differences = TimeScale(furthest);
  std::erase_if(causes,
                [&](const Cause& cause) { return !differences.shows(cause.difference_ns()); });
}

}  // namespace foreshard::gui
