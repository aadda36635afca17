#include "gui/models/comparison/drift.hpp"

#include <algorithm>

namespace foreshard::gui {

Drift drift_of(const traces::Trace& baseline, const traces::Interval& baseline_step,
               const traces::Trace& candidate, const traces::Interval& candidate_step,
               const std::vector<profiler::EventMatch>& pairs) {
  Drift drift;
  drift.points.push_back({});
  const auto add = [&](std::int64_t at, std::int64_t other, const std::string& phase) {
    const DriftPoint before = drift.points.back();
    if (at < before.at_ns) return;  // of another stream, and overtaken
    drift.points.push_back({at, other - at});
    auto known = std::find_if(drift.phases.begin(), drift.phases.end(),
                              [&](const PhaseDrift& one) { return one.phase == phase; });
    if (known == drift.phases.end()) {
      known = drift.phases.insert(known, {phase, {before.at_ns, before.at_ns}, 0});
    }
    known->time.end_ns = at;
    known->drift_ns += other - at - before.drift_ns;
  };
  for (const profiler::EventMatch& pair : pairs) {
    const auto& ours = baseline.events[static_cast<std::size_t>(pair.baseline)];
    const auto& theirs = candidate.events[static_cast<std::size_t>(pair.candidate)];
    if (ours.kind != traces::EventKind::compute) continue;
    add(ours.end_ns - baseline_step.start_ns, theirs.end_ns - candidate_step.start_ns,
        baseline.strings[ours.phase]);
  }
  add(std::max(baseline_step.end_ns - baseline_step.start_ns, drift.points.back().at_ns),
      candidate_step.end_ns - candidate_step.start_ns, {});
  return drift;
}

}  // namespace foreshard::gui
