#include "gui/views/timeline/timeline_canvas.hpp"

#include <QPaintEvent>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kMinimapHeight = 44, kRulerHeight = 24;

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
  connect(&session.selection(), &Selection::rank_changed, this, &TimelineCanvas::take_document);
  connect(&session, &Session::current_changed, this, &TimelineCanvas::take_document);
  connect(&session, &Session::documents_changed, this, &TimelineCanvas::take_document);
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
  // A document that took another's place, as a what-if's does, may have fewer events.
  const auto& event = session_.selection().event();
  if (event && !scene_.has(*event)) session_.selection().select(std::nullopt);
  memory_.show(session_.current(), session_.selection().rank());
  current_lane_ = 0;
  take_appearance();
}

void TimelineCanvas::take_appearance() {
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
  PixelGrid pixels;
  pixels.origin_ns = session_.axis().bounds().start_ns;
  pixels.ratio = devicePixelRatioF();
  return [content = scene_.content(), &colours = theme(), pixels](const TileKey& key) {
    PixelGrid grid = pixels;
    grid.ns_per_pixel = key.ns_per_pixel;
    const std::int64_t first = key.index * kTileWidth;
    const RowId row = RowId::of(key.row);
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
    const int x = static_cast<int>(kHeaderWidth + session_.axis().pixel_of(*cursor));
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
  if (isVisible()) session_.axis().set_width(std::max(1.0, viewport()->width() - kHeaderWidth));
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
  return {0, 0, static_cast<double>(viewport()->width()), kMinimapHeight};
}

QRectF TimelineCanvas::ruler_box() const {
  return {0, kMinimapHeight, static_cast<double>(viewport()->width()), kRulerHeight};
}

QRectF TimelineCanvas::rows_box() const {
  const double top = kMinimapHeight + kRulerHeight;
  return {0, top, static_cast<double>(viewport()->width()), memory_box().top() - top};
}

double TimelineCanvas::rows_height() const {
  constexpr double kSentence = 56;  // that stands where there are no rows
  return scene_.rows().empty() ? kSentence : scene_.height();
}

// Below the rows, as high as they leave room for.
QRectF TimelineCanvas::memory_box() const {
  const double top = kMinimapHeight + kRulerHeight, bottom = viewport()->height();
  const double height = std::max(memory_.least_height(), bottom - top - rows_height());
  const double kept = memory_.is_folded() ? memory_.least_height() : height;
  return {0, bottom - kept, static_cast<double>(viewport()->width()), kept};
}

QRectF TimelineCanvas::lanes_of(const QRectF& box) const {
  return box.adjusted(kHeaderWidth, 0, 0, 0);
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
  const traces::Interval span = scene_.span(event);
  const double from = kHeaderWidth + pixels.x(span.start_ns);
  const double to = std::max(kHeaderWidth + pixels.x(span.end_ns), from + 2);
  if (to < kHeaderWidth || from > viewport()->width()) return {};
  const QRectF row = row_box(scene_.rows()[place->row]);
  return {from, row.top() + place->top, to - from, place->height};
}

PixelGrid TimelineCanvas::grid() const {
  return PixelGrid::of(session_.axis(), painted_ratio_.value_or(devicePixelRatioF()));
}

Ruler TimelineCanvas::ruler() const {
  const StepLabel step = scene_.step_label(session_.axis().ns_at(session_.axis().width() / 2));
  return {step.title, step.note, step.origin_ns, grid(), session_.axis().width()};
}

std::int64_t TimelineCanvas::ns_at(double x) const {
  return session_.axis().ns_at(x - kHeaderWidth);
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

}  // namespace foreshard::gui
