#include "gui/models/comparison/drift.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace foreshard::gui {

Drift::Drift(const traces::Trace& baseline, const traces::Interval& baseline_step,
             const traces::Trace& candidate, const traces::Interval& candidate_step,
             const std::vector<profiler::EventMatch>& pairs)
    : at_{0}, drift_{0} {
  for (const profiler::EventMatch& pair : pairs) {
    const auto& ours = baseline.events[static_cast<std::size_t>(pair.baseline)];
    const auto& theirs = candidate.events[static_cast<std::size_t>(pair.candidate)];
    if (ours.kind != traces::EventKind::compute) continue;
    add(ours.end_ns - baseline_step.start_ns, theirs.end_ns - candidate_step.start_ns,
        baseline.strings[ours.phase]);
  }
  add(std::max(baseline_step.end_ns - baseline_step.start_ns, at_.back()),
      candidate_step.end_ns - candidate_step.start_ns, {});
  for (const std::int64_t drift : drift_) negated_.push_back(-drift);
  highest_ = HighestOf(drift_);
  lowest_ = HighestOf(negated_);
}

void Drift::add(std::int64_t at, std::int64_t other, const std::string& phase) {
  if (at < at_.back()) return;  // of another stream, and overtaken
  auto known = std::ranges::find(phases_, phase, &PhaseDrift::phase);
  if (known == phases_.end()) {
    known = phases_.insert(known, {phase, {at_.back(), at_.back()}, 0});
  }
  known->time.end_ns = at;
  known->drift_ns += other - at - drift_.back();
  at_.push_back(at);
  drift_.push_back(other - at);
}

std::vector<DriftPoint> Drift::seen(traces::Interval window, double ns_per_column) const {
  const auto first_at = [&](std::size_t from, double ns) {
    const auto found = std::lower_bound(
        at_.begin() + static_cast<std::ptrdiff_t>(from), at_.end(), ns,
        [](std::int64_t at, double wanted) { return static_cast<double>(at) < wanted; });
    return static_cast<std::size_t>(found - at_.begin());
  };
  std::vector<DriftPoint> points;
  const auto start = static_cast<double>(window.start_ns);
  std::size_t at = first_at(0, start);
  const std::size_t end = first_at(at, static_cast<double>(window.end_ns));
  if (at > 0) points.push_back(point(at - 1));
  while (at < end) {
    const double column = std::floor((static_cast<double>(at_[at]) - start) / ns_per_column);
    const std::size_t next =
        std::clamp(first_at(at, start + (column + 1) * ns_per_column), at + 1, end);
    std::array of_column{at, highest_.find(drift_, at, next), lowest_.find(negated_, at, next),
                         next - 1};
    std::ranges::sort(of_column);
    const auto end_of_unique = std::unique(of_column.begin(), of_column.end());
    std::for_each(of_column.begin(), end_of_unique,
                  [&](std::size_t n) { points.push_back(point(n)); });
    at = next;
  }
  if (end < size()) points.push_back(point(end));
  return points;
}

}  // namespace foreshard::gui
