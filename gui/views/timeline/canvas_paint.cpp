// How the timeline's canvas is drawn: the lanes from tiles, then text, then what follows the pointer.
#include <QPaintEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "gui/paint/hatch.hpp"
#include "gui/paint/labels.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/timeline/hover_card.hpp"
#include "gui/views/timeline/loss_spans.hpp"
#include "gui/views/timeline/row_headers.hpp"
#include "gui/views/timeline/timeline_canvas.hpp"

namespace foreshard::gui {
namespace {

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

void TimelineCanvas::paintEvent(QPaintEvent* event) {
  QPainter painter(viewport());
  paint(painter, event->rect(), false);
  tell_busy();
}

void TimelineCanvas::paint_frame(QPainter& painter) {
  motion_.finish();
  painted_ratio_ = painter.device()->devicePixelRatioF();
  paint(painter, viewport()->rect(), true);
  painted_ratio_.reset();
}

void TimelineCanvas::paint(QPainter& painter, const QRect& dirty, bool as_shapes) {
  painter.fillRect(dirty, theme()[Role::canvas]);
  if (session_.current() == nullptr) {
    draw_label(painter, viewport()->rect(), Qt::AlignHCenter,
               tr("Open a trace, drop one here, or start from a plan."), Text::body,
               theme()[Role::text2]);
    return;
  }
  if (scene_.rows().empty()) {
    draw_label(painter, rows_box(), Qt::AlignHCenter,
               Scene::sentence_of_nothing(*session_.current()), Text::body, theme()[Role::text2]);
  }
  const Ruler now = ruler();
  if (rows_box().intersects(dirty)) paint_rows(painter, as_shapes);
  if (memory_box().intersects(dirty)) {
    memory_.paint(painter, memory_box(), header_width(), session_.axis(), now,
                  session_.selection().cursor_ns());
    if (memory_.has_host_time()) {
      const QRectF plot = memory_box().adjusted(0, memory_.header_height(), 0, 0);
      paint_losses(painter, lanes_of(plot), grid(), *session_.current()->trace, LostRecords::memory,
                   session_.selection().rank());
    }
  }
  if (minimap_box().intersects(dirty)) {
    minimap_.paint(painter, minimap_box(), minimap_lanes(), scene_, session_.axis());
  }
  const QRectF below(header_width(), ruler_box().bottom(), session_.axis().width(),
                     viewport()->height() - ruler_box().bottom());
  paint_time_lines(painter, below, now, session_.selection());
  paint_ruler(painter, ruler_box(), header_width(), now, session_.selection());
  if (hasFocus() && shows_focus_ && !as_shapes) {
    painter.setPen(QPen(theme()[Role::focus], 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(viewport()->rect()).adjusted(1, 1, -1, -1));
  }
  paint_card(painter);
}

void TimelineCanvas::paint_rows(QPainter& painter, bool as_shapes) {
  painter.save();
  painter.setClipRect(rows_box(), Qt::IntersectClip);
  const QRectF lanes = lanes_of(rows_box());
  paint_grid(painter, lanes);

  std::vector<TileRow> visible;
  std::vector<RowFigures::Seen> shown;
  for (const SceneRow& row : scene_.rows()) {
    const QRectF box = row_box(row);
    if (!box.intersects(rows_box())) continue;
    const RowId id = RowId::of(row.id);
    const TileRow tiles{row.id, header_width(), box.top(), row.height, grid_of(id.document)};
    shown.push_back({row.id, later(session_.axis().window(), -session_.offset_ns(id.document))});
    if (row.kind != SceneRow::Kind::section) paint_missing(painter, lanes_of(box), tiles);
    paint_losses_of(painter, lanes_of(box), tiles);
    paint_row_header(painter, box, header_width(), row, figures_.of(row.id),
                     hasFocus() && shows_focus_ && scene_.index_of(row) == current_lane_);
    if (row.kind != SceneRow::Kind::section) visible.push_back(tiles);
  }
  if (!motion_.is_moving()) {
    figures_.request(scene_.content(), std::move(shown));
  }
  painter.save();
  painter.setClipRect(lanes, Qt::IntersectClip);
  if (as_shapes) {
    paint_lanes_as_shapes(painter, visible);
  } else {
    layer_.paint(painter, visible, motion_.is_moving() || drag_ == Drag::minimap);
  }
  paint_selection(painter);
  painter.restore();
  if (dragged_lane_y_ >= 0) {
    painter.fillRect(QRectF(0, dragged_lane_y_, viewport()->width(), 2), theme()[Role::focus]);
  }
  painter.restore();
}

void TimelineCanvas::paint_lanes_as_shapes(QPainter& painter,
                                           const std::vector<TileRow>& rows) const {
  const SceneContent& content = *scene_.content();
  std::vector<std::vector<BoxLabel>> texts;
  std::vector<PlacedLabel> labels;
  texts.reserve(rows.size());
  for (const TileRow& row : rows) {
    const RowId id = RowId::of(row.id);
    const traces::Interval window =
        later(session_.axis().window(), -session_.offset_ns(id.document));
    const LaneShapes shapes = content.shapes(id, window, row.grid.ns_per_pixel, theme());
    paint_lane(painter, {header_width(), row.top}, shapes, row.grid, theme());
    texts.push_back(labels_of(shapes, row.grid, theme()));
    place_labels(texts.back(), row, labels);
  }
  paint_box_labels(painter, std::move(labels));
}

void TimelineCanvas::paint_grid(QPainter& painter, const QRectF& lanes) const {
  const double hairline = 1 / painter.device()->devicePixelRatioF();
  for (const Tick& tick : ruler().ticks()) {
    if (tick.text.isEmpty()) continue;
    painter.fillRect(QRectF(lanes.left() + tick.pixel, lanes.top(), hairline, lanes.height()),
                     theme()[Role::grid]);
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

void TimelineCanvas::paint_losses_of(QPainter& painter, const QRectF& lane,
                                     const TileRow& row) const {
  const SceneContent& content = *scene_.content();
  const RowId id = RowId::of(row.id);
  const Document& document = *content.parts[static_cast<std::size_t>(id.document)].document;
  for (const LaneBand& band : content.bands(id)) {
    paint_losses(painter, QRectF(lane.left(), lane.top() + band.top, lane.width(), band.height),
                 row.grid, *document.trace, LostRecords::events,
                 document.lanes->rows()[band.row].rank);
  }
}

void TimelineCanvas::paint_selection(QPainter& painter) const {
  painter.setBrush(Qt::NoBrush);
  if (hovered_ && hovered_->row < scene_.rows().size()) {
    const PixelGrid pixels = grid();
    const double from = header_width() + pixels.x(hovered_->span.start_ns);
    const double to = std::max(header_width() + pixels.x(hovered_->span.end_ns), from + 2);
    const QRectF row = row_box(scene_.rows()[hovered_->row]);
    painter.setPen(QPen(theme()[Role::selection], 1));
    painter.drawRect(QRectF(from, row.top() + hovered_->top, to - from - 1, hovered_->height)
                         .adjusted(0.5, 0.5, 0, -0.5));
  }
  const auto& event = session_.selection().event();
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

void TimelineCanvas::show_card() {
  const SceneRow* row = row_at(mouse_.y());
  if (row == nullptr || mouse_.x() < header_width() || !viewport()->underMouse()) return;
  hovered_ = scene_.hit(*row, mouse_.y() - row_box(*row).top(), ns_at(mouse_.x()), reach_ns());
  if (!hovered_) return;
  card_ = scene_.card(*hovered_);
  const PixelGrid pixels = grid();
  const QRectF own(
      header_width() + pixels.x(hovered_->span.start_ns), row_box(*row).top() + hovered_->top,
      pixels.x(hovered_->span.end_ns) - pixels.x(hovered_->span.start_ns), hovered_->height);
  card_box_ = place_card(card_size(card_), own, mouse_, viewport()->rect());
  viewport()->update();
}

void TimelineCanvas::hide_card() {
  dwell_.stop();
  if (!hovered_ && card_box_.isEmpty()) return;
  hovered_.reset();
  card_box_ = {};
  viewport()->update();
}

void TimelineCanvas::paint_card(QPainter& painter) {
  if (hovered_ && !card_box_.isEmpty()) paint_hover_card(painter, card_box_, card_);
}

}  // namespace foreshard::gui
