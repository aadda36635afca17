#include "gui/views/timeline/minimap.hpp"

#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/labels.hpp"
#include "gui/paint/theme.hpp"

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

void Minimap::paint(QPainter& painter, const QRectF& box, const QRectF& lanes,
                    const Document&, const TimeAxis& axis) {
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

  const QRectF frame = frame_of(axis, lanes);
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
