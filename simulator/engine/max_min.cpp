#include "simulator/engine/max_min.hpp"

#include <algorithm>
#include <utility>

namespace foreshard::simulator {

MaxMinSolver::MaxMinSolver(std::vector<double> capacities)
    : capacities_(std::move(capacities)), loads_(capacities_.size()) {}

void MaxMinSolver::solve(std::span<const Consumer> consumers, std::span<double> rates) {
  for (std::size_t r = 0; r < capacities_.size(); ++r) loads_[r] = {capacities_[r], 0};
  for (const Consumer& consumer : consumers) {
    for (int u = 0; u < consumer.count; ++u) {
      const Use& use = consumer.uses[static_cast<std::size_t>(u)];
      loads_[static_cast<std::size_t>(use.resource)].wanted += use.amount;
    }
  }
  bool crowded = false;
  for (std::size_t r = 0; r < capacities_.size(); ++r) {
    crowded |= capacities_[r] > 0 && loads_[r].wanted > capacities_[r];
  }
  if (!crowded) {
    std::fill(rates.begin(), rates.end(), 1.0);
    return;
  }

  fixed_.assign(consumers.size(), 0);
  for (std::size_t left = consumers.size(); left > 0;) {
    // The level at which the next resource fills up, or 1 when none does.
    double level = 1.0;
    std::size_t full = capacities_.size();
    for (std::size_t r = 0; r < capacities_.size(); ++r) {
      if (capacities_[r] <= 0 || loads_[r].wanted <= 1e-12) continue;
      const double at = std::max(0.0, loads_[r].left) / loads_[r].wanted;
      if (at < level) level = at, full = r;
    }
    for (std::size_t i = 0; i < consumers.size(); ++i) {
      if (fixed_[i]) continue;
      const Consumer& consumer = consumers[i];
      const auto begin = consumer.uses.begin();
      const bool held = full == capacities_.size() ||
                        std::any_of(begin, begin + consumer.count, [&](const Use& use) {
                          return static_cast<std::size_t>(use.resource) == full;
                        });
      if (!held) continue;
      fixed_[i] = 1;
      --left;
      rates[i] = std::max(level, 1e-9);
      for (int u = 0; u < consumer.count; ++u) {
        Load& load =
            loads_[static_cast<std::size_t>(consumer.uses[static_cast<std::size_t>(u)].resource)];
        load.left -= consumer.uses[static_cast<std::size_t>(u)].amount * level;
        load.wanted -= consumer.uses[static_cast<std::size_t>(u)].amount;
      }
    }
    if (full < capacities_.size()) loads_[full].wanted = 0;
  }
}

}  // namespace foreshard::simulator
