#include "gui/views/timeline/timeline_canvas.hpp"

#include <QApplication>
#include <QClipboard>
#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/labels.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/timeline/row_headers.hpp"

namespace foreshard::gui {
namespace {

constexpr int kMinimapHeight = 44, kRulerHeight = 24;  // at the usual size of text
constexpr double kSentence = 56;                       // that stands where there are no rows

// An arrow from an event's end to the begin of one that it caused, with a halo of the canvas so that
// it is seen over boxes.
void paint_arrow(QPainter& painter, QPointF from, QPointF to) {
  constexpr double kHead = 6;
  // Rows are left and entered vertically; within a row the arrow runs level.
  const bool is_level = std::abs(to.y() - from.y()) < 4;
  const double way = to.y() > from.y() ? 1 : -1;
  const QPointF neck = is_level ? to - QPointF(kHead, 0) : to - QPointF(0, way * kHead);
  QPainterPath path(from);
  if (is_level) {
    path.lineTo(neck);
  } else {
    const double bend = std::max(10.0, std::abs(neck.y() - from.y()) / 2);
    path.cubicTo(from + QPointF(0, way * bend), neck - QPointF(0, way * bend), neck);
  }
  const QPointF along = is_level ? QPointF(1, 0) : QPointF(0, way);
  const QPointF across(along.y(), along.x());
  const QPolygonF head({to, neck + across * kHead * 0.6, neck - across * kHead * 0.6});

  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme()[Role::canvas], 5, Qt::SolidLine, Qt::RoundCap));
  painter.drawPath(path);
  painter.setPen(QPen(theme()[Role::selection], 1.8));
  painter.drawPath(path);
  painter.setPen(QPen(theme()[Role::canvas], 1));
  painter.setBrush(theme()[Role::selection]);
  painter.drawPolygon(head);
  painter.restore();
}

}  // namespace

TimelineCanvas::TimelineCanvas(Session& session, QWidget* parent)
    : TimeCanvas(session, false, parent), scene_(session) {
  setAccessibleName(tr("Timeline"));
  set_axis(session.axis());

  connect(&session.selection(), &Selection::event_changed, this, [this] {
    announce_selection(this);
    if (isVisible()) reveal_selection();
    viewport()->update();
  });
  connect(&session.selection(), &Selection::rank_changed, this, [this] {
    scene_.gather_units();
    memory_.show(this->session().current(), this->session().selection().rank());
    lay_out();
  });
  connect(&session, &Session::current_changed, this, [this] {
    take_document();
    reveal_document();
  });
  connect(&session, &Session::documents_changed, this, &TimelineCanvas::take_document);
  connect(&session, &Session::alignment_changed, this, &TimelineCanvas::lay_out);
  connect(&Appearance::instance(), &Appearance::changed, this, &TimelineCanvas::take_appearance);
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
  const auto& event = session().selection().event();
  if (event && !scene_.has(*event)) session().selection().select(std::nullopt);
  memory_.show(session().current(), session().selection().rank());
  current_lane_ = 0;
  take_appearance();
}

// Rows of the current document, which may stand below those of others, come into view.
void TimelineCanvas::reveal_document() {
  if (std::exchange(revealed_, session().current_index()) == session().current_index()) return;
  for (const SceneRow& row : scene_.rows()) {
    if (RowId::of(row.id).document != session().current_index()) continue;
    const double top = row.top - scrolled();
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
  if (scene_.is_layout_stale()) lay_out();
  viewport()->update();
}

void TimelineCanvas::repaint_cursor(int x) {
  TimeCanvas::repaint_cursor(x);
  const int pill = scaled(220);
  viewport()->update(
      memory_box().toRect().intersected(QRect(x - pill, 0, 2 * pill, viewport()->height())));
}

void TimelineCanvas::lay_out() {
  scene_.lay_out();
  TimeCanvas::lay_out();
}

void TimelineCanvas::resizeEvent(QResizeEvent* event) {
  minimap_.forget();
  TimeCanvas::resizeEvent(event);
}

bool TimelineCanvas::is_busy() const {
  return TimeCanvas::is_busy() || tiles_.is_busy() || memory_.is_busy() || scene_.is_busy() ||
         figures_.is_busy();
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

// Below the rows, as high as they leave room for.
QRectF TimelineCanvas::memory_box() const {
  const double top = scaled(kMinimapHeight) + scaled(kRulerHeight), bottom = viewport()->height();
  const double rows = scene_.rows().empty() ? kSentence : scene_.height();
  const double height = std::max(memory_.least_height(), bottom - top - rows);
  const double kept = memory_.is_folded() ? memory_.least_height() : height;
  return {0, bottom - kept, static_cast<double>(viewport()->width()), kept};
}

QRectF TimelineCanvas::minimap_lanes() const {
  return lanes_of(minimap_box()).adjusted(0, 4, -1, -4);
}

QRectF TimelineCanvas::row_box(const SceneRow& row) const {
  return {0, rows_box().top() + row.top - scrolled(), static_cast<double>(viewport()->width()),
          row.height};
}

QRectF TimelineCanvas::event_box(EventId event) const {
  const auto place = scene_.place(event);
  if (!place) return {};
  const PixelGrid pixels = grid();
  const traces::Interval span = session().span(event);
  const double from = header_width() + pixels.x(span.start_ns);
  const double to = std::max(header_width() + pixels.x(span.end_ns), from + 2);
  if (to < header_width() || from > viewport()->width()) return {};
  const QRectF row = row_box(scene_.rows()[place->row]);
  return {from, row.top() + place->top, to - from, place->height};
}

PixelGrid TimelineCanvas::grid_of(int document) const {
  const auto& part = scene_.content()->parts[static_cast<std::size_t>(document)];
  return PixelGrid::of(axis(), ratio(), part.document->extent.start_ns,
                       session().offset_ns(document));
}

void TimelineCanvas::label_ruler(Ruler& ruler) const {
  const StepLabel step = scene_.step_label(axis().ns_at(axis().width() / 2));
  ruler.title = step.title;
  ruler.note = step.note;
  ruler.origin_ns = step.origin_ns;
}

const SceneRow* TimelineCanvas::row_at(double y) const {
  if (!rows_box().contains(1, y)) return nullptr;
  return scene_.row_at(y - rows_box().top() + scrolled());
}

std::optional<SceneHit> TimelineCanvas::hit_at(QPointF at) const {
  const SceneRow* row = row_at(at.y());
  if (row == nullptr || at.x() < header()) return std::nullopt;
  return scene_.hit(*row, at.y() - row_box(*row).top(), ns_at(at.x()), reach_ns());
}

QString TimelineCanvas::as_text() const {
  const auto& event = session().selection().event();
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
  const auto& event = session().selection().event();
  const QRectF box = event ? event_box(*event) : QRectF();
  return box.isEmpty() ? std::nullopt : std::optional(AccessibleItem{as_text(), box});
}

// Painting:

void TimelineCanvas::paint_below(QPainter& painter, const QRect& dirty, const Ruler& ruler) {
  labels_.clear();
  if (is_empty()) {
    draw_label(painter, viewport()->rect(), Qt::AlignHCenter,
               tr("Open a trace, drop one here, or start from a plan."), Text::body,
               theme()[Role::text2]);
    return;
  }
  if (scene_.rows().empty()) {
    draw_label(painter, rows_box(), Qt::AlignHCenter,
               Scene::sentence_of_nothing(*session().current()), Text::body, theme()[Role::text2]);
  }
  if (rows_box().intersects(dirty)) paint_rows(painter, ruler);
  if (memory_box().intersects(dirty)) {
    memory_.paint(painter, memory_box(), header(), axis(), ruler);
    if (memory_.has_host_time()) {
      const QRectF plot = memory_box().adjusted(0, memory_.header_height(), 0, 0);
      paint_dropped_ranges(painter, lanes_of(plot), grid(), *session().current()->trace,
                           LostRecords::memory, session().selection().rank());
    }
  }
  if (minimap_box().intersects(dirty)) {
    minimap_.paint(painter, minimap_box(), minimap_lanes(), scene_, axis());
  }
}

void TimelineCanvas::paint_above(QPainter& painter, const Ruler& ruler) {
  painter.save();
  painter.setClipRect(lanes_of(rows_box()), Qt::IntersectClip);
  paint_box_labels(painter, std::move(labels_));
  painter.restore();
  memory_.paint_figures(painter, memory_box(), header(), axis(), ruler.cursor);
}

void TimelineCanvas::paint_rows(QPainter& painter, const Ruler& ruler) {
  painter.save();
  painter.setClipRect(rows_box(), Qt::IntersectClip);
  const QRectF lanes = lanes_of(rows_box());
  paint_grid(painter, lanes, ruler);

  std::vector<TileRow> visible;
  std::vector<RowFigures::Seen> shown;
  for (const SceneRow& row : scene_.rows()) {
    const QRectF box = row_box(row);
    if (!box.intersects(rows_box())) continue;
    const RowId id = RowId::of(row.id);
    const TileRow tiles{row.id, header(), box.top(), row.height, grid_of(id.document)};
    shown.push_back({row.id, later(axis().window(), -session().offset_ns(id.document))});
    if (row.kind != SceneRow::Kind::section) paint_missing(painter, lanes_of(box), tiles);
    paint_dropped_ranges_of(painter, lanes_of(box), tiles);
    paint_row_header(painter, box, header(), row, figures_.of(row.id),
                     shows_focus() && scene_.index_of(row) == current_lane_);
    if (row.kind != SceneRow::Kind::section) visible.push_back(tiles);
  }
  if (!is_zooming()) {
    figures_.request(scene_.content(), std::move(shown));
  }
  painter.save();
  painter.setClipRect(lanes, Qt::IntersectClip);
  if (paints_shapes()) {
    paint_lanes_as_shapes(painter, visible);
  } else {
    labels_ = layer_.paint(painter, visible, is_zooming() || minimap_grip_);
  }
  paint_selection(painter);
  painter.restore();
  if (dragged_lane_y_ >= 0) {
    painter.fillRect(QRectF(0, dragged_lane_y_, viewport()->width(), 2), theme()[Role::focus]);
  }
  painter.restore();
}

void TimelineCanvas::paint_lanes_as_shapes(QPainter& painter, const std::vector<TileRow>& rows) {
  const SceneContent& content = *scene_.content();
  shape_labels_.clear();
  shape_labels_.reserve(rows.size());
  for (const TileRow& row : rows) {
    const RowId id = RowId::of(row.id);
    const traces::Interval window = later(axis().window(), -session().offset_ns(id.document));
    const LaneShapes shapes = content.shapes(id, window, row.grid.ns_per_pixel, theme());
    paint_lane(painter, {header(), row.top}, shapes, row.grid, theme());
    shape_labels_.push_back(labels_of(shapes, row.grid, theme()));
    place_labels(shape_labels_.back(), row, labels_);
  }
}

// From where on events are missing, as the run was stopped.
void TimelineCanvas::paint_missing(QPainter& painter, const QRectF& lane,
                                   const TileRow& row) const {
  const auto document = static_cast<std::size_t>(RowId::of(row.id).document);
  const traces::Trace& trace = *scene_.content()->parts[document].document->trace;
  if (trace.complete) return;
  const double begin = row.grid.x(trace.complete_until_ns), from = std::max(begin, 0.0);
  if (from >= lane.width()) return;
  painter.setBrushOrigin(QPointF(lane.left() + begin, 0));
  painter.fillRect(lane.adjusted(from, 0, 0, 0), hatch(theme()[Role::line], Hatch::cross));
  painter.setBrushOrigin(0, 0);
}

void TimelineCanvas::paint_dropped_ranges_of(QPainter& painter, const QRectF& lane,
                                             const TileRow& row) const {
  const SceneContent& content = *scene_.content();
  const RowId id = RowId::of(row.id);
  const Document& document = *content.parts[static_cast<std::size_t>(id.document)].document;
  for (const LaneBand& band : content.bands(id)) {
    paint_dropped_ranges(
        painter, QRectF(lane.left(), lane.top() + band.top, lane.width(), band.height), row.grid,
        *document.trace, LostRecords::events, document.lanes->rows()[band.row].rank);
  }
}

void TimelineCanvas::paint_selection(QPainter& painter) const {
  painter.setBrush(Qt::NoBrush);
  const auto& event = session().selection().event();
  if (!event) return;
  for (const SceneArrow& arrow : scene_.arrows(*event)) {
    const QRectF from = event_box(arrow.from), to = event_box(arrow.to);
    if (from.isEmpty() || to.isEmpty()) continue;
    const EventId other = arrow.from == *event ? arrow.to : arrow.from;
    painter.setPen(QPen(theme()[Role::selection], 1));
    painter.drawRect(event_box(other).adjusted(0.5, 0.5, -0.5, -0.5));
    if (std::abs(from.center().y() - to.center().y()) < 1) {  // of one lane
      constexpr double kLeastGap = 12;
      if (to.left() - from.right() < kLeastGap) continue;
      paint_arrow(painter, QPointF(from.right(), from.center().y()),
                  QPointF(to.left(), to.center().y()));
      continue;
    }
    const bool is_down = to.center().y() > from.center().y();
    paint_arrow(painter, QPointF(from.right(), is_down ? from.bottom() : from.top()),
                QPointF(to.left(), is_down ? to.top() : to.bottom()));
  }
  const QRectF box = event_box(*event);
  if (box.isEmpty()) return;
  painter.setPen(QPen(theme()[Role::selection], 2, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
  painter.drawRect(box.adjusted(-1, -1, 1, 1));
}

std::optional<TimelineCanvas::Hovered> TimelineCanvas::hover(QPointF at) const {
  const auto hit = hit_at(at);
  if (!hit) return std::nullopt;
  const PixelGrid pixels = grid();
  const double from = pixels.x(hit->span.start_ns), to = pixels.x(hit->span.end_ns);
  return Hovered{scene_.card(*hit),
                 {header() + from, row_box(scene_.rows()[hit->row]).top() + hit->top,
                  std::max(to - from, 2.0), hit->height}};
}

// Commands:

// What is there, and beside all events the step.
traces::Interval TimelineCanvas::fitting(QPointF at) {
  if (minimap_box().contains(at)) return session().everything();
  const auto hit = hit_at(at);
  if (!hit) return scene_.step_at(ns_at(at.x()));
  if (hit->event) select(hit->event);
  fitted_selection_ = true;
  return hit->span;
}

void TimelineCanvas::click(QPointF at) {
  if (!rows_box().contains(at)) {
    if (memory_box().contains(at) && at.y() < memory_box().top() + memory_.header_height()) {
      memory_.fold(!memory_.is_folded());
      lay_out();
    }
    return;
  }
  const SceneRow* row = row_at(at.y());
  if (row == nullptr) return select(std::nullopt);
  current_lane_ = scene_.index_of(*row);
  if (row->kind == SceneRow::Kind::section || at.x() < header()) return change_lane(&Scene::fold);
  const auto hit = hit_at(at);
  if (hit && !hit->unit.empty()) session().selection().set_unit(hit->unit);
  select(hit ? hit->event : std::nullopt);
}

void TimelineCanvas::select(std::optional<EventId> event) {
  fitted_selection_ = false;
  session().selection().select(event);
  reveal_selection();
  viewport()->update();
}

// Moves the window and the rows as far as it takes to see the selected event.
void TimelineCanvas::reveal_selection() {
  const auto& event = session().selection().event();
  if (!event || !scene_.has(*event)) return;
  const auto is_in_view = [&] {
    const traces::Interval span = session().span(*event);
    return span.end_ns >= axis().start_ns() && span.start_ns <= axis().end_ns();
  };
  const auto show = [&] {
    const traces::Interval span = session().span_there(*event);
    go_to((span.start_ns + span.end_ns) / 2);
  };
  if (!is_in_view()) show();
  if (!is_in_view()) {  // the current document, which ends the axis, has no such step
    session().set_current(event->document);
    show();
  }
  if (!scene_.place(*event)) {
    scene_.unfold(*event);
    lay_out();
  }
  if (const auto place = scene_.place(*event)) {
    current_lane_ = place->row;
    const SceneRow& row = scene_.rows()[place->row];
    const double top = row.top - scrolled();
    if (top < 0 || top + row.height > rows_box().height()) {
      verticalScrollBar()->setValue(static_cast<int>(row.top - rows_box().height() / 3));
    }
  }
}

void TimelineCanvas::select_beside(int by) {
  const auto& event = session().selection().event();
  const auto next =
      event ? scene_.beside(*event, by) : scene_.first_in_lane(current_lane_, axis().start_ns());
  if (next) select(next);
}

void TimelineCanvas::follow_arrow(Direction direction) {
  const auto& event = session().selection().event();
  if (!event) return;
  for (const SceneArrow& arrow : scene_.arrows(*event)) {
    if (direction == Direction::cause && arrow.to == *event) return select(arrow.from);
    if (direction == Direction::effect && arrow.from == *event) return select(arrow.to);
  }
}

void TimelineCanvas::select_twin(Twin twin, int by) {
  const auto& event = session().selection().event();
  if (!event) return;
  const auto found =
      twin == Twin::rank ? scene_.twin_in_rank(*event, by) : scene_.twin_in_step(*event, by);
  if (found) select(found);
}

// The other trace becomes the current one, and as much of it is seen as was of this one.
bool TimelineCanvas::select_in_other_trace() {
  const auto& event = session().selection().event();
  const auto found = event ? scene_.twin_in_trace(*event) : std::nullopt;
  if (!found) return false;
  const std::int64_t length = axis().end_ns() - axis().start_ns();
  session().set_current(found->document);
  const traces::Interval span = session().span(*found);
  const std::int64_t start = (span.start_ns + span.end_ns - length) / 2;
  axis().show({start, start + length});
  select(found);
  return true;
}

void TimelineCanvas::next_colouring() {
  scene_.next_colouring();
  take_content();
}

void TimelineCanvas::go_to_peak() {
  const auto peak = memory_.peak_ns();
  if (!peak) return;
  go_to(*peak);
  session().selection().set_cursor(*peak);
}

void TimelineCanvas::change_lane(void (Scene::*change)(std::size_t)) {
  (scene_.*change)(current_lane_);
  lay_out();
}

// One thing at a time: the search, the range, the selection.
void TimelineCanvas::clear() {
  if (scene_.has_hits()) return search_left();
  TimeCanvas::clear();
}

// Drags of the minimap and of headers:

bool TimelineCanvas::takes_drag(QPointF at) {
  minimap_grip_.reset();
  grabbed_ = at;
  if (!minimap_box().contains(at)) return at.x() < header() && at.y() >= rows_box().top();
  minimap_grip_ = minimap_.grip(axis(), minimap_lanes(), at.x());
  minimap_x_ = at.x();
  move_minimap(at.x());
  return true;
}

void TimelineCanvas::drag_own(QPointF at) {
  if (minimap_grip_) return move_minimap(at.x());
  dragged_lane_y_ = at.y();
  viewport()->update();
}

void TimelineCanvas::drop_own(QPointF at) {
  if (std::exchange(minimap_grip_, std::nullopt)) return viewport()->update();
  dragged_lane_y_ = -1;
  const SceneRow* from = row_at(grabbed_.y());
  const SceneRow* to = row_at(at.y());
  if (from != nullptr && to != nullptr) scene_.move(scene_.index_of(*from), scene_.index_of(*to));
  lay_out();
}

void TimelineCanvas::move_minimap(double x) {
  finish_zoom();
  minimap_.move(axis(), minimap_lanes(), *minimap_grip_, minimap_x_, x);
  if (minimap_grip_ == Minimap::Grip::none) minimap_grip_ = Minimap::Grip::window;
  minimap_x_ = x;
}

Qt::CursorShape TimelineCanvas::pointer_at(QPointF at) const {
  if (!minimap_box().contains(at)) return TimeCanvas::pointer_at(at);
  switch (minimap_.grip(axis(), minimap_lanes(), at.x())) {
    case Minimap::Grip::start:
    case Minimap::Grip::end: return Qt::SizeHorCursor;
    case Minimap::Grip::window: return Qt::OpenHandCursor;
    case Minimap::Grip::none: break;
  }
  return Qt::ArrowCursor;
}

// Keys:

bool TimelineCanvas::focusNextPrevChild(bool next) {
  if (next && hasFocus() && select_in_other_trace()) return true;
  return TimeCanvas::focusNextPrevChild(next);
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
  const Qt::KeyboardModifiers modifiers = event->modifiers() & ~Qt::KeypadModifier;
  const bool is_handled = modifiers == Qt::AltModifier  ? press_with_alt(event->key())
                          : modifiers == Qt::NoModifier ? press_plain(event->key())
                                                        : false;
  if (is_handled) {
    event->accept();
  } else if (modifiers == Qt::ShiftModifier && event->key() == Qt::Key_H) {
    scene_.show_hidden();
    lay_out();
  } else if (event->matches(QKeySequence::Copy)) {
    QApplication::clipboard()->setText(as_text());
  } else {
    TimeCanvas::keyPressEvent(event);
  }
}

bool TimelineCanvas::press_plain(int key) {
  switch (key) {
    case Qt::Key_Comma: select_beside(-1); return true;
    case Qt::Key_Period: select_beside(1); return true;
    case Qt::Key_BracketLeft: follow_arrow(Direction::cause); return true;
    case Qt::Key_BracketRight: follow_arrow(Direction::effect); return true;
    case Qt::Key_C: next_colouring(); return true;
    case Qt::Key_K: go_to_peak(); return true;
    case Qt::Key_T:
      memory_.next_clock();
      viewport()->update();
      return true;
    case Qt::Key_Space: change_lane(&Scene::fold); return true;
    case Qt::Key_P: change_lane(&Scene::pin); return true;
    case Qt::Key_H: change_lane(&Scene::hide); return true;
    default: return false;
  }
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

}  // namespace foreshard::gui
