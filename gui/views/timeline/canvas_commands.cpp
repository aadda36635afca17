// What keys and mouse bring about on the timeline's canvas.
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "gui/views/timeline/timeline_canvas.hpp"

namespace foreshard::gui {
namespace {

constexpr double kFitMargin = 0.08;  // of what is fitted, on each side
constexpr int kRowStep = 44;

traces::Interval with_margin(traces::Interval span) {
  const auto margin = static_cast<std::int64_t>(
      std::ceil(kFitMargin * static_cast<double>(span.end_ns - span.start_ns)));
  return {span.start_ns - margin, span.end_ns + margin};
}

}  // namespace

void TimelineCanvas::zoom(double factor) {
  const bool is_over_lanes = viewport()->underMouse() && mouse_.x() >= kHeaderWidth;
  zoom_at(factor, is_over_lanes ? mouse_.x() : kHeaderWidth + session_.axis().width() / 2);
}

void TimelineCanvas::zoom_at(double factor, double x) {
  motion_.zoom(factor, std::clamp(x - kHeaderWidth, 0.0, session_.axis().width()));
}

void TimelineCanvas::scroll_rows(int by) {
  verticalScrollBar()->setValue(verticalScrollBar()->value() + by * kRowStep);
}

// The selection, and if that is shown already, the step.
void TimelineCanvas::fit() {
  const auto& event = session_.selection().event();
  const auto& range = session_.selection().range();
  if (!fitted_selection_ && (event || range)) {
    session_.axis().show(event ? with_margin(scene_.span(*event)) : *range);
    fitted_selection_ = true;
    return;
  }
  fitted_selection_ = false;
  session_.axis().show(session_.steady_step());
}

void TimelineCanvas::fit_at(QPointF at) {
  const SceneRow* row = row_at(at.y());
  const auto hit = row != nullptr
                       ? scene_.hit(*row, at.y() - row_box(*row).top(), ns_at(at.x()), reach_ns())
                       : std::nullopt;
  if (!hit) return session_.axis().show(scene_.step_at(ns_at(at.x())));
  if (hit->event) select(hit->event);
  session_.axis().show(with_margin(hit->span));
  fitted_selection_ = true;
}

double TimelineCanvas::reach_ns() const {
  constexpr double kPixels = 2;  // from a box that is still meant
  return kPixels * session_.axis().ns_per_pixel();
}

void TimelineCanvas::go_to(std::int64_t ns) {
  session_.axis().pan(session_.axis().pixel_of(ns) - session_.axis().width() / 2);
}

void TimelineCanvas::click(QPointF at) {
  setFocus(Qt::MouseFocusReason);
  if (!rows_box().contains(at)) {
    if (memory_box().contains(at) && at.y() < memory_box().top() + memory_.header_height()) {
      memory_.fold(!memory_.is_folded());
      lay_out();
    }
    return;
  }
  const SceneRow* row = row_at(at.y());
  if (row == nullptr) return select(std::nullopt);
  if (row->kind == SceneRow::Kind::section || at.x() < kHeaderWidth) {
    current_lane_ = scene_.index_of(*row);
    return fold_lane();
  }
  current_lane_ = scene_.index_of(*row);
  const auto hit = scene_.hit(*row, at.y() - row_box(*row).top(), ns_at(at.x()), reach_ns());
  if (hit && !hit->unit.empty()) session_.selection().set_unit(hit->unit);
  select(hit ? hit->event : std::nullopt);
}

void TimelineCanvas::select(std::optional<EventId> event) {
  fitted_selection_ = false;
  session_.selection().select(event);
  reveal_selection();
  viewport()->update();
}

// Moves the window and the rows as far as it takes to see the selected event.
void TimelineCanvas::reveal_selection() {
  const auto& event = session_.selection().event();
  if (!event || !scene_.has(*event)) return;
  const traces::Interval span = scene_.span(*event);
  const TimeAxis& axis = session_.axis();
  if (span.end_ns < axis.start_ns() || span.start_ns > axis.end_ns()) {
    go_to((span.start_ns + span.end_ns) / 2);
  }
  if (!scene_.place(*event)) {
    scene_.unfold(*event);
    lay_out();
  }
  if (const auto place = scene_.place(*event)) {
    current_lane_ = place->row;
    const SceneRow& row = scene_.rows()[place->row];
    const double top = row.top - verticalScrollBar()->value();
    if (top < 0 || top + row.height > rows_box().height()) {
      verticalScrollBar()->setValue(static_cast<int>(row.top - rows_box().height() / 3));
    }
  }
}

void TimelineCanvas::select_beside(int by) {
  const auto& event = session_.selection().event();
  const auto next = event ? scene_.beside(*event, by)
                          : scene_.first_in_lane(current_lane_, session_.axis().start_ns());
  if (next) select(next);
}

void TimelineCanvas::follow_arrow(Direction direction) {
  const auto& event = session_.selection().event();
  if (!event) return;
  for (const SceneArrow& arrow : scene_.arrows(*event)) {
    if (direction == Direction::cause && arrow.to == *event) return select(arrow.from);
    if (direction == Direction::effect && arrow.from == *event) return select(arrow.to);
  }
}

void TimelineCanvas::select_twin(Twin twin, int by) {
  const auto& event = session_.selection().event();
  if (!event) return;
  const auto found =
      twin == Twin::rank ? scene_.twin_in_rank(*event, by) : scene_.twin_in_step(*event, by);
  if (found) select(found);
}

void TimelineCanvas::toggle_mark() {
  const auto& cursor = session_.selection().cursor_ns();
  const auto& event = session_.selection().event();
  const TimeAxis& axis = session_.axis();
  const std::int64_t at = cursor  ? *cursor
                          : event ? scene_.span(*event).start_ns
                                  : axis.ns_at(axis.width() / 2);
  session_.selection().toggle_mark(at, static_cast<std::int64_t>(4 * axis.ns_per_pixel()));
}

// The first after the window's middle, and from the last one the first again.
void TimelineCanvas::go_to_next_mark() {
  const auto& marks = session_.selection().marks();
  if (marks.empty()) return;
  const TimeAxis& axis = session_.axis();
  const std::int64_t beyond = axis.ns_at(axis.width() / 2 + 1);
  const auto next = std::lower_bound(marks.begin(), marks.end(), beyond);
  go_to(next == marks.end() ? marks.front() : *next);
}

void TimelineCanvas::drag_mark(QPointF at) {
  std::vector<std::int64_t> marks = session_.selection().marks();
  if (held_mark_ >= marks.size()) return;
  const std::int64_t here = ns_at(at.x());
  marks[held_mark_] = here;
  std::sort(marks.begin(), marks.end());
  held_mark_ =
      static_cast<std::size_t>(std::lower_bound(marks.begin(), marks.end(), here) - marks.begin());
  session_.selection().set_marks(std::move(marks));
}

// A mark that is let go of off the ruler is removed.
void TimelineCanvas::drop_mark(QPointF at) {
  if (ruler_box().adjusted(0, -8, 0, 8).contains(at)) return;
  std::vector<std::int64_t> marks = session_.selection().marks();
  if (held_mark_ < marks.size())
    marks.erase(marks.begin() + static_cast<std::ptrdiff_t>(held_mark_));
  session_.selection().set_marks(std::move(marks));
}

void TimelineCanvas::next_colouring() {
  scene_.next_colouring();
  take_content();
}

void TimelineCanvas::next_memory_clock() {
  memory_.next_clock();
  viewport()->update();
}

void TimelineCanvas::go_to_peak() {
  const auto peak = memory_.peak_ns();
  if (!peak) return;
  go_to(*peak);
  session_.selection().set_cursor(*peak);
}

void TimelineCanvas::fold_lane() {
  scene_.fold(current_lane_);
  lay_out();
}

void TimelineCanvas::pin_lane() {
  scene_.pin(current_lane_);
  lay_out();
}

void TimelineCanvas::hide_lane() {
  scene_.hide(current_lane_);
  lay_out();
}

void TimelineCanvas::show_hidden_lanes() {
  scene_.show_hidden();
  lay_out();
}

void TimelineCanvas::drag_lane(double y) {
  dragged_lane_y_ = y;
  viewport()->update();
}

void TimelineCanvas::drop_lane(double y) {
  dragged_lane_y_ = -1;
  const SceneRow* from = row_at(press_.y());
  const SceneRow* to = row_at(y);
  if (from != nullptr && to != nullptr) scene_.move(scene_.index_of(*from), scene_.index_of(*to));
  lay_out();
}

void TimelineCanvas::move_minimap(double x) {
  motion_.finish();
  minimap_.move(session_.axis(), minimap_lanes(), minimap_grip_, last_.x(), x);
  if (minimap_grip_ == Minimap::Grip::none) minimap_grip_ = Minimap::Grip::window;
  last_.setX(x);
}

void TimelineCanvas::range_of_selection() {
  const auto& event = session_.selection().event();
  if (event) session_.selection().set_range(scene_.span(*event));
}

// One thing at a time: the card, the search, the range, the selection.
void TimelineCanvas::clear() {
  Selection& selection = session_.selection();
  if (!card_box_.isEmpty()) return hide_card();
  if (scene_.has_hits()) return search_left();
  if (selection.range()) return selection.set_range(std::nullopt);
  select(std::nullopt);
  selection.set_unit({});
}

}  // namespace foreshard::gui
