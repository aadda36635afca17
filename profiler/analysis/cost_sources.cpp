#include "profiler/analysis/cost_sources.hpp"

#include <array>

#include "traces/input/bounded_sum.hpp"

namespace foreshard::profiler {

std::vector<CostSourceTotal> cost_source_totals(const traces::Trace& trace) {
  std::array<CostSourceTotal, static_cast<std::size_t>(CostSource::kCount)> totals;
  for (const traces::Event& e : trace.events) {
    if (e.cost_source == CostSource::none) continue;
    CostSourceTotal& total = totals[static_cast<std::size_t>(e.cost_source)];
    total.source = e.cost_source;
    ++total.count;
    total.total_ns = traces::bounded_sum(total.total_ns, e.end_ns - e.start_ns);
  }
  std::vector<CostSourceTotal> result;
  for (const CostSourceTotal& total : totals) {
    if (total.count > 0) result.push_back(total);
  }
  return result;
}

}  // namespace foreshard::profiler
