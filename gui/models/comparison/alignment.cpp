#include "gui/models/comparison/alignment.hpp"

#include <algorithm>

namespace foreshard::gui {

Alignment::Alignment(const StepComparison& step, Arrangement arrangement) {
  if (arrangement == Arrangement::by_instruction) {
    const auto start = [](const StepSide& side, std::size_t unit) {
      return side.units[unit].time.start_ns;
    };
    for (const Ribbon& ribbon : step.ribbons) {
      const std::int64_t ours = start(step.baseline, ribbon.baseline);
      const std::int64_t theirs = start(step.candidate, ribbon.candidate);
      // Units in another order on the other side stay where they are.
      if (!candidate_.empty() && theirs < candidate_.back().from_ns) continue;
      const std::int64_t together = std::max(place(false, ours), place(true, theirs));
      baseline_.push_back({ours, together - ours});
      candidate_.push_back({theirs, together - theirs});
    }
  }
  end_ns_ =
      std::max(place(false, step.baseline.length_ns()), place(true, step.candidate.length_ns()));
}

std::int64_t Alignment::place(bool is_candidate, std::int64_t ns) const {
  const std::vector<Shift>& shifts = is_candidate ? candidate_ : baseline_;
  const auto after =
      std::upper_bound(shifts.begin(), shifts.end(), ns,
                       [](std::int64_t at, const Shift& s) { return at < s.from_ns; });
  return after == shifts.begin() ? ns : ns + std::prev(after)->by_ns;
}

}  // namespace foreshard::gui
