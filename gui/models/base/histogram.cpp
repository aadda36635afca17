#include "gui/models/base/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard::gui {

double Histogram::edge_ns(double bin) const {
  const double share = bin / static_cast<double>(counts.size());
  return shortest_ns * std::pow(longest_ns / shortest_ns, share);
}

double Histogram::place_of(double ns) const {
  if (longest_ns <= shortest_ns) return 0;
  const double share =
      std::log(std::max(ns, 1.0) / shortest_ns) / std::log(longest_ns / shortest_ns);
  return std::clamp(share, 0.0, 1.0) * static_cast<double>(counts.size());
}

Histogram histogram(std::span<const std::int64_t> durations_ns, std::size_t bins) {
  Histogram result;
  if (durations_ns.empty()) return result;
  const auto [shortest, longest] = std::minmax_element(durations_ns.begin(), durations_ns.end());
  result.shortest_ns = std::max(1.0, static_cast<double>(*shortest));
  result.longest_ns = std::max(1.0, static_cast<double>(*longest));
  result.counts.assign(result.longest_ns > result.shortest_ns ? bins : 1, 0);
  for (const std::int64_t duration : durations_ns) {
    const auto bin = static_cast<std::size_t>(result.place_of(static_cast<double>(duration)));
    ++result.counts[std::min(bin, result.counts.size() - 1)];
  }
  return result;
}

}  // namespace foreshard::gui
