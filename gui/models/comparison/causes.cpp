#include "gui/models/comparison/causes.hpp"

#include <map>
#include <utility>

#include "profiler/report/short_names.hpp"

namespace foreshard::gui {

std::vector<Cause> causes_of(const profiler::Comparison& comparison) {
  std::vector<Cause> causes;
  for (const profiler::OperatorDifference& one : comparison.operators) {
    const auto events = static_cast<double>(one.events);
    causes.push_back(
        {one.name, {}, one.category, events, events, one.baseline_ns, one.candidate_ns});
  }
  if (causes.empty()) {
    for (const profiler::OperatorChange& one : comparison.changes) {
      causes.push_back({one.name,
                        {},
                        one.category,
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
  for (Cause& cause : causes) cause.cost_sources = sources[{cause.name, cause.category}];
  std::vector<std::string> names;
  for (const Cause& cause : causes) names.push_back(cause.name);
  names = profiler::short_names(names, 40);
  for (std::size_t n = 0; n < causes.size(); ++n)
    causes[n].label = QString::fromStdString(names[n]);
  return causes;
}

}  // namespace foreshard::gui
