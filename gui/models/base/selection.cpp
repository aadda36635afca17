#include "gui/models/base/selection.hpp"

#include <algorithm>
#include <cstdlib>

namespace foreshard::gui {

void Selection::select(std::optional<EventId> event) {
  if (event == event_) return;
  event_ = event;
  Q_EMIT event_changed();
}

void Selection::set_range(std::optional<traces::Interval> range) {
  if (range && range->end_ns < range->start_ns) std::swap(range->start_ns, range->end_ns);
  if (range == range_) return;
  range_ = range;
  Q_EMIT range_changed();
}

void Selection::set_cursor(std::optional<std::int64_t> ns) {
  if (ns == cursor_) return;
  cursor_ = ns;
  Q_EMIT cursor_changed();
}

void Selection::toggle_mark(std::int64_t ns, std::int64_t tolerance_ns) {
  const auto near = std::find_if(marks_.begin(), marks_.end(), [&](std::int64_t mark) {
    return std::abs(mark - ns) <= tolerance_ns;
  });
  if (near != marks_.end()) {
    marks_.erase(near);
  } else {
    marks_.insert(std::lower_bound(marks_.begin(), marks_.end(), ns), ns);
  }
  Q_EMIT marks_changed();
}

void Selection::set_marks(std::vector<std::int64_t> marks) {
  std::sort(marks.begin(), marks.end());
  if (marks == marks_) return;
  marks_ = std::move(marks);
  Q_EMIT marks_changed();
}

void Selection::set_rank(int rank) {
  if (rank == rank_) return;
  rank_ = rank;
  Q_EMIT rank_changed();
}

void Selection::set_unit(std::string unit) {
  if (unit == unit_) return;
  unit_ = std::move(unit);
  Q_EMIT unit_changed();
}

void Selection::clear() {
  select(std::nullopt);
  set_range(std::nullopt);
  set_unit({});
}

}  // namespace foreshard::gui
