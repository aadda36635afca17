#include "gui/views/timeline/timeline_canvas.hpp"

#include <QApplication>
#include <QClipboard>
#include <QGestureEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEvent>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kMinimapHeight = 44, kRulerHeight = 24;  // at the usual size of text

}  // namespace

TimelineCanvas::TimelineCanvas(Session& session, QWidget* parent)
    : QAbstractScrollArea(parent), session_(session), scene_(session), motion_(session.axis()) {
  setAccessibleName(tr("Timeline"));
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  viewport()->grabGesture(Qt::PinchGesture);
  dwell_.setSingleShot(true);
  connect(&dwell_, &QTimer::timeout, this, &TimelineCanvas::show_card);

  const auto repaint = [this] { viewport()->update(); };
  connect(&session.axis(), &TimeAxis::changed, this, &TimelineCanvas::follow_axis);
  connect(&session.selection(), &Selection::event_changed, this, [this] {
    announce_selection(this);
    if (isVisible()) reveal_selection();
    viewport()->update();
  });
  connect(&session.selection(), &Selection::range_changed, this, repaint);
  connect(&session.selection(), &Selection::cursor_changed, this, &TimelineCanvas::follow_cursor);
  connect(&session.selection(), &Selection::marks_changed, this, repaint);
  connect(&session.selection(), &Selection::rank_changed, this, [this] {
    scene_.gather_units();
    memory_.show(session_.current(), session_.selection().rank());
    lay_out();
  });
  connect(&session, &Session::current_changed, this, [this] {
    take_document();
    reveal_document();
  });
  connect(&session, &Session::documents_changed, this, &TimelineCanvas::take_document);
  connect(&session, &Session::alignment_changed, this, &TimelineCanvas::lay_out);
  connect(&Appearance::instance(), &Appearance::changed, this, &TimelineCanvas::take_appearance);
  connect(&motion_, &ZoomMotion::finished, this, repaint);
  connect(&tiles_, &TileCache::delivered, this, [this] {
    viewport()->update();
    tell_busy();
  });
  connect(&scene_, &Scene::changed, this, &TimelineCanvas::take_content);
  connect(&scene_, &Scene::busy_changed, this, &TimelineCanvas::tell_busy);
  connect(&figures_, &RowFigures::changed, this, [this] {
    viewport()->update();
    tell_busy();
  });
  connect(&memory_, &MemoryStrip::changed, this, [this] {
    lay_out();
    tell_busy();
  });
  take_document();
}

void TimelineCanvas::take_document() {
  hide_card();
  scene_.take_documents();
  const auto& event = session_.selection().event();
  if (event && !scene_.has(*event)) session_.selection().select(std::nullopt);
  memory_.show(session_.current(), session_.selection().rank());
  current_lane_ = 0;
  take_appearance();
}

// Rows of the current document, which may stand below those of others, come into view.
void TimelineCanvas::reveal_document() {
  if (std::exchange(revealed_, session_.current_index()) == session_.current_index()) return;
  for (const SceneRow& row : scene_.rows()) {
    if (RowId::of(row.id).document != session_.current_index()) continue;
    const double top = row.top - verticalScrollBar()->value();
    if (top < 0 || top + 2 * row.height > rows_box().height())
      verticalScrollBar()->setValue(static_cast<int>(row.top));
    return;
  }
}

void TimelineCanvas::take_appearance() {
  scene_.take_appearance();
  tiles_.reset(tile_fill());
  minimap_.forget();
  lay_out();
}

// What is drawn has changed, but not so much that what there is would not do until the new is there.
void TimelineCanvas::take_content() {
  tiles_.renew(tile_fill());
  minimap_.forget();
  lay_out();
}

TileCache::Fill TimelineCanvas::tile_fill() const {
  return [content = scene_.content(), &colours = theme(),
          ratio = devicePixelRatioF()](const TileKey& key) {
    const RowId row = RowId::of(key.row);
    PixelGrid grid;
    grid.origin_ns =
        content->parts[static_cast<std::size_t>(row.document)].document->extent.start_ns;
    grid.ratio = ratio;
    grid.ns_per_pixel = key.ns_per_pixel;
    const std::int64_t first = key.index * kTileWidth;
    const LaneShapes shapes = content->shapes(row, {grid.ns(first), grid.ns(first + kTileWidth)},
                                              key.ns_per_pixel, colours);
    return paint_tile(shapes, grid, first, kTileWidth, content->height_of(row), colours);
  };
}

void TimelineCanvas::follow_axis() {
  hide_card();
  if (scene_.is_layout_stale()) lay_out();
  viewport()->update();
}

// Only what the cursor covered and covers: its line, and its pills on the ruler and in memory.
void TimelineCanvas::follow_cursor() {
  constexpr int kPill = 110;
  for (const auto& cursor : {drawn_cursor_, session_.selection().cursor_ns()}) {
    if (!cursor) continue;
    const int x = static_cast<int>(header_width() + session_.axis().pixel_of(*cursor));
    viewport()->update(x - 2, 0, 4, viewport()->height());
    viewport()->update(x - kPill, static_cast<int>(ruler_box().top()), 2 * kPill,
                       static_cast<int>(ruler_box().height()));
    viewport()->update(memory_box().toRect().intersected(
        QRect(x - 2 * kPill, 0, 3 * kPill, viewport()->height())));
  }
  drawn_cursor_ = session_.selection().cursor_ns();
}

void TimelineCanvas::showEvent(QShowEvent* event) {
  QAbstractScrollArea::showEvent(event);
  lay_out();
}

void TimelineCanvas::lay_out() {
  scene_.lay_out();
  // Other views share the axis: it is as wide as the one that is shown.
  if (isVisible()) session_.axis().set_width(std::max(1.0, viewport()->width() - header_width()));
  const double hidden = scene_.height() - rows_box().height();
  verticalScrollBar()->setRange(0, static_cast<int>(std::ceil(std::max(hidden, 0.0))));
  verticalScrollBar()->setPageStep(static_cast<int>(rows_box().height()));
  viewport()->update();
}

void TimelineCanvas::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  minimap_.forget();
  lay_out();
}

void TimelineCanvas::scrollContentsBy(int, int) {
  hide_card();
  viewport()->update();
}

bool TimelineCanvas::is_busy() const {
  return tiles_.is_busy() || memory_.is_busy() || motion_.is_moving() || scene_.is_busy() ||
         figures_.is_busy();
}

void TimelineCanvas::tell_busy() {
  if (std::exchange(was_busy_, is_busy()) != was_busy_) Q_EMIT busy_changed();
}

QRectF TimelineCanvas::minimap_box() const {
  return QRectF(0, 0, viewport()->width(), scaled(kMinimapHeight));
}

QRectF TimelineCanvas::ruler_box() const {
  return QRectF(0, scaled(kMinimapHeight), viewport()->width(), scaled(kRulerHeight));
}

QRectF TimelineCanvas::rows_box() const {
  const double top = scaled(kMinimapHeight) + scaled(kRulerHeight);
  return {0, top, static_cast<double>(viewport()->width()), memory_box().top() - top};
}

double TimelineCanvas::rows_height() const {
  constexpr double kSentence = 56;  // that stands where there are no rows
  return scene_.rows().empty() ? kSentence : scene_.height();
}

// Below the rows, as high as they leave room for.
QRectF TimelineCanvas::memory_box() const {
  const double top = scaled(kMinimapHeight) + scaled(kRulerHeight), bottom = viewport()->height();
  const double height = std::max(memory_.least_height(), bottom - top - rows_height());
  const double kept = memory_.is_folded() ? memory_.least_height() : height;
  return {0, bottom - kept, static_cast<double>(viewport()->width()), kept};
}

QRectF TimelineCanvas::lanes_of(const QRectF& box) const {
  return box.adjusted(header_width(), 0, 0, 0);
}

QRectF TimelineCanvas::minimap_lanes() const {
  return lanes_of(minimap_box()).adjusted(0, 4, -1, -4);
}

QRectF TimelineCanvas::row_box(const SceneRow& row) const {
  return {0, rows_box().top() + row.top - verticalScrollBar()->value(),
          static_cast<double>(viewport()->width()), row.height};
}

QRectF TimelineCanvas::event_box(EventId event) const {
  const auto place = scene_.place(event);
  if (!place) return {};
  const PixelGrid pixels = grid();
  const traces::Interval span = session_.span(event);
  const double from = header_width() + pixels.x(span.start_ns);
  const double to = std::max(header_width() + pixels.x(span.end_ns), from + 2);
  if (to < header_width() || from > viewport()->width()) return {};
  const QRectF row = row_box(scene_.rows()[place->row]);
  return {from, row.top() + place->top, to - from, place->height};
}

PixelGrid TimelineCanvas::grid() const {
  return PixelGrid::of(session_.axis(), painted_ratio_.value_or(devicePixelRatioF()),
                       session_.axis().bounds().start_ns);
}

PixelGrid TimelineCanvas::grid_of(int document) const {
  const auto& part = scene_.content()->parts[static_cast<std::size_t>(document)];
  return PixelGrid::of(session_.axis(), painted_ratio_.value_or(devicePixelRatioF()),
                       part.document->extent.start_ns, session_.offset_ns(document));
}

Ruler TimelineCanvas::ruler() const {
  const StepLabel step = scene_.step_label(session_.axis().ns_at(session_.axis().width() / 2));
  return {step.title, step.note, step.origin_ns, grid(), session_.axis().width()};
}

std::int64_t TimelineCanvas::ns_at(double x) const {
  return session_.axis().ns_at(x - header_width());
}

const SceneRow* TimelineCanvas::row_at(double y) const {
  if (!rows_box().contains(1, y)) return nullptr;
  return scene_.row_at(y - rows_box().top() + verticalScrollBar()->value());
}

QString TimelineCanvas::as_text() const {
  const auto& event = session_.selection().event();
  if (event) return scene_.card_text(*event);
  QStringList lines;
  for (std::size_t n = 0; n < scene_.rows().size(); ++n) {
    const SceneRow& row = scene_.rows()[n];
    if (row.kind != SceneRow::Kind::unit && !row.title.isEmpty()) lines << row_text(n);
  }
  return lines.join(QLatin1Char('\n'));
}

QString TimelineCanvas::row_text(std::size_t index) const {
  const SceneRow& row = scene_.rows()[index];
  const QString figure = row.note.isEmpty() ? figures_.of(row.id) : row.note;
  return figure.isEmpty() ? row.title : row.title + QLatin1Char('\t') + figure;
}

int TimelineCanvas::accessible_rows() const {
  return static_cast<int>(scene_.rows().size());
}

AccessibleItem TimelineCanvas::accessible_row(int row) const {
  const auto index = static_cast<std::size_t>(row);
  return {row_text(index), row_box(scene_.rows()[index])};
}

std::optional<AccessibleItem> TimelineCanvas::accessible_selection() const {
  const auto& event = session_.selection().event();
  const QRectF box = event ? event_box(*event) : QRectF();
  return box.isEmpty() ? std::nullopt : std::optional(AccessibleItem{as_text(), box});
}

// What keys and mouse bring about on the timeline's canvas.

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
  const bool is_over_lanes = viewport()->underMouse() && mouse_.x() >= header_width();
  zoom_at(factor, is_over_lanes ? mouse_.x() : header_width() + session_.axis().width() / 2);
}

void TimelineCanvas::zoom_at(double factor, double x) {
  motion_.zoom(factor, std::clamp(x - header_width(), 0.0, session_.axis().width()));
}

void TimelineCanvas::scroll_rows(int by) {
  verticalScrollBar()->setValue(verticalScrollBar()->value() + by * kRowStep);
}

// The selection, and if that is shown already, the step.
void TimelineCanvas::fit() {
  motion_.finish();
  const auto& event = session_.selection().event();
  const auto& range = session_.selection().range();
  if (!fitted_selection_ && (event || range)) {
    session_.axis().show(event ? with_margin(session_.span_there(*event)) : *range);
    fitted_selection_ = true;
    return;
  }
  fitted_selection_ = false;
  session_.axis().show(session_.steady_step());
}

void TimelineCanvas::fit_at(QPointF at) {
  motion_.finish();
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
  if (row->kind == SceneRow::Kind::section || at.x() < header_width()) {
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
  const auto is_in_view = [&] {
    const traces::Interval span = session_.span(*event);
    return span.end_ns >= session_.axis().start_ns() && span.start_ns <= session_.axis().end_ns();
  };
  const auto show = [&] {
    const traces::Interval span = session_.span_there(*event);
    go_to((span.start_ns + span.end_ns) / 2);
  };
  if (!is_in_view()) show();
  if (!is_in_view()) {  // the current document, which ends the axis, has no such step
    session_.set_current(event->document);
    show();
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

// The other trace becomes the current one, and as much of it is seen as was of this one.
bool TimelineCanvas::select_in_other_trace() {
  const auto& event = session_.selection().event();
  const auto found = event ? scene_.twin_in_trace(*event) : std::nullopt;
  if (!found) return false;
  TimeAxis& axis = session_.axis();
  const std::int64_t length = axis.end_ns() - axis.start_ns();
  session_.set_current(found->document);
  const traces::Interval span = session_.span(*found);
  const std::int64_t start = (span.start_ns + span.end_ns - length) / 2;
  axis.show({start, start + length});
  select(found);
  return true;
}

void TimelineCanvas::toggle_mark() {
  const auto& cursor = session_.selection().cursor_ns();
  const auto& event = session_.selection().event();
  const TimeAxis& axis = session_.axis();
  const std::int64_t at = cursor  ? *cursor
                          : event ? session_.span(*event).start_ns
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
  if (event) session_.selection().set_range(session_.span(*event));
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

// What the keys do on the timeline's canvas.

namespace {

constexpr double kZoomStep = 1.3;      // by W and S
constexpr double kPanShare = 1.0 / 8;  // of the window, by A and D
constexpr int kFaster = 4;             // with Shift

}  // namespace

void TimelineCanvas::focusInEvent(QFocusEvent* event) {
  shows_focus_ = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason;
  QAbstractScrollArea::focusInEvent(event);
}

bool TimelineCanvas::focusNextPrevChild(bool next) {
  if (next && hasFocus() && select_in_other_trace()) return true;
  return QAbstractScrollArea::focusNextPrevChild(next);
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
  const Qt::KeyboardModifiers modifiers = event->modifiers() & ~Qt::KeypadModifier;
  const bool is_handled = modifiers == Qt::AltModifier     ? press_with_alt(event->key())
                          : modifiers == Qt::ShiftModifier ? press_with_shift(event->key())
                          : modifiers == Qt::NoModifier    ? press_plain(event->key())
                                                           : false;
  if (is_handled) {
    event->accept();
  } else if (event->matches(QKeySequence::Copy)) {
    QApplication::clipboard()->setText(as_text());
  } else {
    QAbstractScrollArea::keyPressEvent(event);
  }
}

// What moves the window; `speed` times as far.
bool TimelineCanvas::move_window(int key, int speed) {
  switch (key) {
    case Qt::Key_W: zoom(std::pow(kZoomStep, speed)); return true;
    case Qt::Key_S: zoom(std::pow(kZoomStep, -speed)); return true;
    case Qt::Key_A:
    case Qt::Key_Left:
      session_.axis().pan(-speed * kPanShare * session_.axis().width());
      return true;
    case Qt::Key_D:
    case Qt::Key_Right:
      session_.axis().pan(speed * kPanShare * session_.axis().width());
      return true;
    case Qt::Key_Up: scroll_rows(-speed); return true;
    case Qt::Key_Down: scroll_rows(speed); return true;
    default: return false;
  }
}

bool TimelineCanvas::press_plain(int key) {
  if (move_window(key, 1)) return true;
  switch (key) {
    case Qt::Key_F: fit(); return true;
    case Qt::Key_0:
      motion_.finish();
      session_.axis().show(session_.everything());
      return true;
    case Qt::Key_Comma: select_beside(-1); return true;
    case Qt::Key_Period: select_beside(1); return true;
    case Qt::Key_BracketLeft: follow_arrow(Direction::cause); return true;
    case Qt::Key_BracketRight: follow_arrow(Direction::effect); return true;
    case Qt::Key_M: toggle_mark(); return true;
    case Qt::Key_C: next_colouring(); return true;
    case Qt::Key_K: go_to_peak(); return true;
    case Qt::Key_T: next_memory_clock(); return true;
    case Qt::Key_Space: fold_lane(); return true;
    case Qt::Key_P: pin_lane(); return true;
    case Qt::Key_H: hide_lane(); return true;
    case Qt::Key_R: range_of_selection(); return true;
    case Qt::Key_Escape: clear(); return true;
    default: return false;
  }
}

bool TimelineCanvas::press_with_shift(int key) {
  if (move_window(key, kFaster)) return true;
  if (key == Qt::Key_M) return go_to_next_mark(), true;
  if (key == Qt::Key_H) return show_hidden_lanes(), true;
  return false;
}

bool TimelineCanvas::press_with_alt(int key) {
  switch (key) {
    case Qt::Key_Up: select_twin(Twin::rank, -1); return true;
    case Qt::Key_Down: select_twin(Twin::rank, 1); return true;
    case Qt::Key_Left: select_twin(Twin::step, -1); return true;
    case Qt::Key_Right: select_twin(Twin::step, 1); return true;
    default: return false;
  }
}

// What the mouse does on the timeline's canvas.

namespace {

constexpr int kDwellMilliseconds = 80;
constexpr double kZoomOfNotch = 1.25;  // a notch of the wheel, 120 of its units
constexpr double kPanOfNotch = 60;     // pixels

}  // namespace

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
  hide_card();
  press_ = event->position();
  last_ = press_;
  has_moved_ = false;
  drag_ = drag_from(press_, event->button(), event->modifiers());
  drag_start_ns_ = ns_at(press_.x());
  if (drag_ == Drag::minimap) move_minimap(press_.x());
}

TimelineCanvas::Drag TimelineCanvas::drag_from(QPointF at, Qt::MouseButton button,
                                               Qt::KeyboardModifiers modifiers) {
  if (button == Qt::RightButton || button == Qt::MiddleButton) return Drag::pan;
  if (button != Qt::LeftButton) return Drag::none;
  if (minimap_box().contains(at)) {
    minimap_grip_ = minimap_.grip(session_.axis(), minimap_lanes(), at.x());
    return Drag::minimap;
  }
  if (at.x() < header_width()) return at.y() < rows_box().top() ? Drag::none : Drag::header;
  if (ruler_box().contains(at)) {
    const RulerHit hit = hit_ruler(ruler(), session_.selection(), at.x() - header_width());
    held_mark_ = hit.mark;
    switch (hit.part) {
      case RulerPart::range_start: return Drag::range_start;
      case RulerPart::range_end: return Drag::range_end;
      case RulerPart::mark: return Drag::mark;
      case RulerPart::none: return Drag::range;
    }
  }
  const bool selects_range = modifiers.testFlag(Qt::ShiftModifier) != drags_are_swapped_;
  return selects_range ? Drag::range : Drag::pan;
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (event->buttons() == Qt::NoButton) return follow_mouse(at);
  if (!has_moved_ && (at - press_).manhattanLength() < QApplication::startDragDistance() / 2)
    return;
  has_moved_ = true;
  drag_to(at);
  last_ = at;
}

void TimelineCanvas::drag_to(QPointF at) {
  Selection& selection = session_.selection();
  const std::int64_t here = ns_at(std::clamp<double>(at.x(), header_width(), viewport()->width()));
  switch (drag_) {
    case Drag::none: break;
    case Drag::pan:
      motion_.finish();
      session_.axis().pan(last_.x() - at.x());
      verticalScrollBar()->setValue(verticalScrollBar()->value() +
                                    static_cast<int>(std::lround(last_.y() - at.y())));
      break;
    case Drag::range:
      selection.set_range(
          traces::Interval{std::min(drag_start_ns_, here), std::max(drag_start_ns_, here)});
      break;
    case Drag::range_start:
    case Drag::range_end: {
      if (!selection.range()) break;  // Esc
      traces::Interval range = *selection.range();
      (drag_ == Drag::range_start ? range.start_ns : range.end_ns) = here;
      if (range.start_ns > range.end_ns) {  // the handles change places
        std::swap(range.start_ns, range.end_ns);
        drag_ = drag_ == Drag::range_start ? Drag::range_end : Drag::range_start;
      }
      selection.set_range(range);
      break;
    }
    case Drag::mark: drag_mark(at); break;
    case Drag::minimap: move_minimap(at.x()); break;
    case Drag::header: drag_lane(at.y()); break;
  }
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
  const Drag drag = std::exchange(drag_, Drag::none);
  if (drag == Drag::mark && has_moved_) return drop_mark(event->position());
  if (drag == Drag::header && has_moved_) return drop_lane(event->position().y());
  if (has_moved_ || event->button() != Qt::LeftButton) return;
  const bool is_on_ruler = ruler_box().contains(press_);
  if (drag == Drag::header || !is_on_ruler) click(event->position());
  if (is_on_ruler && drag == Drag::range) session_.selection().set_range(std::nullopt);
  if (drag == Drag::mark) go_to(session_.selection().marks().at(held_mark_));
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || event->position().x() < header_width()) return;
  if (minimap_box().contains(event->position())) {
    return session_.axis().show(session_.everything());
  }
  fit_at(event->position());
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  hide_card();
  const QPointF notches = QPointF(event->angleDelta()) / 120.0;
  if (event->modifiers() & Qt::ControlModifier) {
    zoom_at(std::pow(kZoomOfNotch, notches.y()), event->position().x());
  } else if (event->modifiers() & (Qt::ShiftModifier | Qt::AltModifier)) {
    session_.axis().pan(-kPanOfNotch * (notches.y() + notches.x()));
  } else {
    // Two fingers on a touch pad give pixels, a wheel gives notches.
    const QPoint pixels = event->pixelDelta();
    const double across = pixels.isNull() ? kPanOfNotch * notches.x() : pixels.x();
    const double down = pixels.isNull() ? kPanOfNotch * notches.y() : pixels.y();
    if (across != 0) session_.axis().pan(-across);
    verticalScrollBar()->setValue(verticalScrollBar()->value() -
                                  static_cast<int>(std::lround(down)));
  }
  event->accept();
}

bool TimelineCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    session_.selection().set_cursor(std::nullopt);
    hide_card();
  } else if (event->type() == QEvent::Gesture) {
    if (QGesture* gesture = static_cast<QGestureEvent*>(event)->gesture(Qt::PinchGesture)) {
      const auto* pinch = static_cast<QPinchGesture*>(gesture);
      const QPointF centre = viewport()->mapFromGlobal(pinch->centerPoint());
      session_.axis().zoom(pinch->scaleFactor(), centre.x() - header_width());
      return true;
    }
  } else if (event->type() == QEvent::NativeGesture) {
    const auto* gesture = static_cast<QNativeGestureEvent*>(event);
    if (gesture->gestureType() == Qt::ZoomNativeGesture) {
      session_.axis().zoom(1 + gesture->value(), gesture->position().x() - header_width());
      return true;
    }
  }
  return QAbstractScrollArea::viewportEvent(event);
}

// Without a button: the cursor's time, the shape of the pointer, and the card after a while.
void TimelineCanvas::follow_mouse(QPointF at) {
  mouse_ = at;
  const bool is_over_lanes = at.x() >= header_width() && at.y() >= ruler_box().top();
  session_.selection().set_cursor(is_over_lanes ? std::optional(ns_at(at.x())) : std::nullopt);
  viewport()->setCursor(pointer_at(at));
  hide_card();
  dwell_.start(kDwellMilliseconds);
}

Qt::CursorShape TimelineCanvas::pointer_at(QPointF at) const {
  if (minimap_box().contains(at)) {
    switch (minimap_.grip(session_.axis(), minimap_lanes(), at.x())) {
      case Minimap::Grip::start:
      case Minimap::Grip::end: return Qt::SizeHorCursor;
      case Minimap::Grip::window: return Qt::OpenHandCursor;
      case Minimap::Grip::none: return Qt::ArrowCursor;
    }
  }
  if (ruler_box().contains(at) && at.x() >= header_width()) {
    const RulerHit hit = hit_ruler(ruler(), session_.selection(), at.x() - header_width());
    return hit.part == RulerPart::none ? Qt::ArrowCursor : Qt::SizeHorCursor;
  }
  return Qt::ArrowCursor;
}

}  // namespace foreshard::gui
