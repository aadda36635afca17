#include "gui/views/timeline/minimap.hpp"

#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/labels.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/timeline/lane_painter.hpp"

namespace foreshard::gui {
namespace {

constexpr double kReachOfEdge = 5, kLeastWindow = 6;

// The trace's time along the row.
struct Scale {
  double left, ns_per_pixel;
  std::int64_t origin;

  Scale(const TimeAxis& axis, const QRectF& lanes)
      : left(lanes.left()),
        ns_per_pixel(static_cast<double>(axis.bounds().end_ns - axis.bounds().start_ns) /
                     std::max(lanes.width(), 1.0)),
        origin(axis.bounds().start_ns) {}
  double x(std::int64_t ns) const { return left + static_cast<double>(ns - origin) / ns_per_pixel; }
  std::int64_t ns(double x) const { return origin + std::lround((x - left) * ns_per_pixel); }
};

QRectF frame_of(const TimeAxis& axis, const QRectF& lanes) {
  const Scale scale(axis, lanes);
  const double from = std::clamp(scale.x(axis.start_ns()), lanes.left(), lanes.right());
  const double to = std::clamp(scale.x(axis.end_ns()), lanes.left(), lanes.right());
  const double width = std::max(to - from, kLeastWindow);
  const double left = std::min(std::round((from + to - width) / 2), lanes.right() - width);
  return {left, lanes.top(), std::round(width), lanes.height()};
}

void paint_step_names(QPainter& painter, const QRectF& lanes, const Scene& scene,
                      const TimeAxis& axis) {
  const Scale scale(axis, lanes);
  const SceneContent& content = *scene.content();
  if (content.current < 0) return;
  for (const auto& [step, span] :
       content.parts[static_cast<std::size_t>(content.current)].document->steps) {
    const double from = scale.x(span.start_ns), to = scale.x(span.end_ns);
    const QString name = step == 0 ? QObject::tr("set-up") : QObject::tr("step %1").arg(step);
    const double width = label_width(name, Text::tick) + 8;
    if (to - from < width + 2) continue;
    const QRectF box(from + 1, lanes.top() + 1, width, scaled(14));
    painter.fillRect(box, theme()[Role::panel]);
    draw_label(painter, box, Qt::AlignHCenter, name, Text::tick, theme()[Role::text2]);
  }
}

}  // namespace

Minimap::Grip Minimap::grip(const TimeAxis& axis, const QRectF& lanes, double x) const {
  const QRectF frame = frame_of(axis, lanes);
  const double inner = std::min(kReachOfEdge, frame.width() / 3);
  if (x >= frame.left() - kReachOfEdge && x < frame.left() + inner) return Grip::start;
  if (x > frame.right() - inner && x <= frame.right() + kReachOfEdge) return Grip::end;
  return frame.left() <= x && x <= frame.right() ? Grip::window : Grip::none;
}

void Minimap::move(TimeAxis& axis, const QRectF& lanes, Grip grip, double from, double to) const {
  const Scale scale(axis, lanes);
  const std::int64_t there = scale.ns(std::clamp(to, lanes.left(), lanes.right()));
  switch (grip) {
    case Grip::none: axis.pan(axis.pixel_of(there) - axis.width() / 2); break;
    case Grip::window: axis.pan((to - from) * scale.ns_per_pixel / axis.ns_per_pixel()); break;
    case Grip::start: axis.show({std::min(there, axis.end_ns() - 1), axis.end_ns()}); break;
    case Grip::end: axis.show({axis.start_ns(), std::max(there, axis.start_ns() + 1)}); break;
  }
}

// Phases above, and below them the first stream that communicates; of recordings without phases the
// first stream of kernels.
void Minimap::paint_trace(QPainter& painter, const QRectF& lanes, const Scene& scene,
                          const TimeAxis& axis) const {
  const SceneContent& content = *scene.content();
  if (content.current < 0) return;
  const auto& document = *content.parts[static_cast<std::size_t>(content.current)].document;
  PixelGrid grid;
  grid.origin_ns = axis.bounds().start_ns;
  grid.ratio = painter.device()->devicePixelRatioF();
  grid.count = std::lround(lanes.width() * grid.ratio);
  grid.ns_per_pixel = static_cast<double>(axis.bounds().end_ns - axis.bounds().start_ns) /
                      (lanes.width() * grid.ratio);
  constexpr double kStreamHeight = 6;
  const auto paint_first = [&](std::initializer_list<RowKind> kinds, double top, double height) {
    const auto& rows = document.lanes->rows();
    for (std::size_t n = 0; n < rows.size(); ++n) {
      if (std::find(kinds.begin(), kinds.end(), rows[n].kind) == kinds.end()) continue;
      RowId id;
      id.document = content.current;
      id.index = n;
      LaneShapes shapes = content.shapes(id, axis.bounds(), grid.ns_per_pixel, theme());
      for (LaneBox& box : shapes.boxes) {
        box.top = 0;
        box.height = height;
        box.style = LaneStyle::solid;
      }
      for (LaneColumn& column : shapes.columns) {
        column.top = 0;
        column.height = height;
      }
      shapes.ticks.clear();
      paint_lane(painter, {0, top}, shapes, grid, theme());
      return true;
    }
    return false;
  };
  const double upper = lanes.height() - kStreamHeight - 2;
  if (!paint_first({RowKind::phase}, 0, upper))
    paint_first({RowKind::compute}, 0, upper) || paint_first({RowKind::host}, 0, upper);
  paint_first({RowKind::reduce_scatter, RowKind::all_gather, RowKind::all_reduce}, upper + 2,
              kStreamHeight);
  if (const traces::Trace& trace = *document.trace; !trace.complete) {
    const double from = std::max(grid.x(trace.complete_until_ns), 0.0);
    painter.fillRect(QRectF(from, 0, lanes.width() - from, lanes.height()),
                     hatch(theme()[Role::strong_line], Hatch::cross));
  }
  paint_dropped_ranges(painter, QRectF(QPointF(), lanes.size()), grid, *document.trace,
                       LostRecords::all);
  const auto& hits = content.parts[static_cast<std::size_t>(content.current)].hits;
  if (hits == nullptr) return;
  constexpr double kTick = 2, kTickHeight = 10;
  for (const std::int64_t moment : hits->moments()) {
    painter.fillRect(QRectF(grid.x(moment), lanes.height() - kTickHeight, kTick, kTickHeight),
                     theme()[Role::text]);
  }
}

void Minimap::paint(QPainter& painter, const QRectF& box, const QRectF& lanes, const Scene& scene,
                    const TimeAxis& axis) {
  painter.fillRect(box, theme()[Role::panel]);
  const double hairline = 1 / painter.device()->devicePixelRatioF();
  painter.fillRect(QRectF(box.left(), box.bottom() - hairline, box.width(), hairline),
                   theme()[Role::line]);
  const QRectF header(16, box.top(), lanes.left() - 28, box.height());
  draw_label(painter, header, Qt::AlignLeft, QObject::tr("Whole trace"), Text::secondary,
             theme()[Role::text2]);
  draw_figure_label(
      painter, header, Qt::AlignRight,
      time_figure(static_cast<double>(axis.bounds().end_ns - axis.bounds().start_ns)).text(),
      Text::secondary, theme()[Role::text3]);

  const double ratio = painter.device()->devicePixelRatioF();
  if (image_.isNull() || image_.devicePixelRatio() != ratio) {
    image_ = QImage((lanes.size() * ratio).toSize(), QImage::Format_ARGB32_Premultiplied);
    image_.setDevicePixelRatio(ratio);
    image_.fill(Qt::transparent);
    QPainter trace(&image_);
    paint_trace(trace, QRectF({0, 0}, lanes.size()), scene, axis);
  }
  painter.drawImage(lanes.topLeft(), image_);

  const QRectF frame = frame_of(axis, lanes);
  QColor veil = theme()[Role::panel];
  veil.setAlphaF(0.6F);
  painter.fillRect(QRectF(lanes.topLeft(), frame.bottomLeft()), veil);
  painter.fillRect(QRectF(frame.topRight(), lanes.bottomRight()), veil);
  paint_step_names(painter, lanes, scene, axis);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme()[Role::text2], 1));
  painter.drawRect(frame.adjusted(0.5, 0.5, -0.5, -0.5));
  for (const double x : {frame.left(), frame.right()}) {
    const QRectF handle(x - 3, frame.center().y() - 7, 6, 14);
    painter.setBrush(theme()[Role::raised]);
    painter.drawRoundedRect(handle.adjusted(0.5, 0.5, -0.5, -0.5), 2, 2);
  }
}

}  // namespace foreshard::gui
