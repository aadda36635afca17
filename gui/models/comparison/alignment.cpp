#include "gui/models/comparison/alignment.hpp"

#include <algorithm>
#include <utility>

namespace foreshard::gui {

Alignment::Alignment(const StepComparison& step, Arrangement arrangement)
    : baseline_{{{0, step.baseline.length_ns()}, 0}},
      candidate_{{{0, step.candidate.length_ns()}, 0}} {
  const auto move_from = [](std::vector<Piece>& pieces, std::int64_t ns, std::int64_t by) {
    const std::int64_t end = std::exchange(pieces.back().time.end_ns, ns);
    pieces.push_back({{ns, end}, by});
  };
  if (arrangement == Arrangement::by_instruction) {
    for (const Ribbon& ribbon : step.ribbons) {
      const std::int64_t ours = ribbon.baseline.start_ns, theirs = ribbon.candidate.start_ns;
      // Units in another order on the other side stay where they are.
      if (theirs < candidate_.back().time.start_ns) continue;
      const std::int64_t together = std::max(place(false, ours), place(true, theirs));
      move_from(baseline_, ours, together - ours);
      move_from(candidate_, theirs, together - theirs);
    }
  }
  end_ns_ =
      std::max(place(false, step.baseline.length_ns()), place(true, step.candidate.length_ns()));
}

std::vector<Alignment::Piece> Alignment::pieces(bool is_candidate, std::int64_t least_ns) const {
  std::vector<Piece> joined;
  for (const Piece& piece : all_pieces(is_candidate)) {
    if (!joined.empty() && joined.back().time.end_ns - joined.back().time.start_ns < least_ns) {
      joined.back().time.end_ns = piece.time.end_ns;
    } else {
      joined.push_back(piece);
    }
  }
  return joined;
}

std::int64_t Alignment::place(bool is_candidate, std::int64_t ns) const {
  const std::vector<Piece>& all = all_pieces(is_candidate);
  const auto after = std::upper_bound(
      all.begin(), all.end(), ns,
      [](std::int64_t at, const Piece& piece) { return at < piece.time.start_ns; });
  return after == all.begin() ? ns : ns + std::prev(after)->by_ns;
}

std::int64_t Alignment::moment(bool is_candidate, std::int64_t place) const {
  const std::vector<Piece>& all = all_pieces(is_candidate);
  const auto after = std::upper_bound(
      all.begin(), all.end(), place,
      [](std::int64_t at, const Piece& piece) { return at < piece.time.start_ns + piece.by_ns; });
  if (after == all.begin()) return place;
  const std::int64_t ns = place - std::prev(after)->by_ns;
  return after == all.end() ? ns : std::min(ns, std::prev(after)->time.end_ns);
}

}  // namespace foreshard::gui
