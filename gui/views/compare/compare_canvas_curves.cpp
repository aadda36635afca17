// The curves of the comparison's canvas: drift and memory.
#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"
#include "gui/paint/time_ticks.hpp"
#include "gui/views/base/memory_plot.hpp"
#include "gui/views/compare/compare_canvas.hpp"
#include "gui/views/compare/compare_layout.hpp"

namespace foreshard::gui {
namespace {

// Title and explanation of a curve at the left, its values right aligned.
void draw_title(QPainter& painter, double top, const QString& title, const QStringList& lines) {
  painter.setFont(gui::font(Text::body));
  painter.setPen(theme()[Role::text]);
  const double left = 16, line = QFontMetricsF(painter.font()).height();
  painter.drawText(QRectF(left, top, lane_left() - left, line), Qt::AlignLeft, title);
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  for (qsizetype n = 0; n < lines.size(); ++n) {
    painter.drawText(
        QRectF(left, top + line * static_cast<double>(n + 1), lane_left() - left, line),
        Qt::AlignLeft, lines[n]);
  }
}

// "-20 ms": without the zeros that figures have for their four digits.
QString round_time(double ns) {
  const double size = std::abs(ns);
  const double unit = size >= 1e9 ? 1e9 : size >= 1e6 ? 1e6 : size >= 1e3 ? 1e3 : 1;
  if (size < 0.5) return QStringLiteral("0");
  const QString number = QString::number(size / unit, 'g', 4) + QLatin1Char(' ');
  return (ns < 0 ? QString(QChar(0x2212)) : QString()) + number + time_figure(ns).unit;
}

void draw_value(QPainter& painter, double y, const QString& text, double right) {
  painter.setFont(gui::font(Text::tick));
  painter.setPen(theme()[Role::text3]);
  draw_figure(painter, QRectF(lane_left() - 92, y - 8, 84, 16), Qt::AlignRight, text);
  painter.fillRect(QRectF(lane_left(), std::round(y), right - lane_left(), 1), theme()[Role::grid]);
}

void draw_key(QPainter& painter, QPointF at, const QString& text, QColor colour, bool is_dashed) {
  QPen pen(colour, 1.6);
  if (is_dashed) pen.setDashPattern({4 / 1.6, 2.5 / 1.6});
  painter.setPen(pen);
  painter.drawLine(at, at + QPointF(20, 0));
  painter.setPen(theme()[Role::text2]);
  painter.drawText(at + QPointF(26, 4), text);
}

// The points of a curve, from left to right, that can be seen: of those within one pixel the first,
// the lowest, the highest and the last; of those beside the area only the nearest.
QPolygonF seen_points(const QPolygonF& points, const QRectF& area) {
  const auto is_left = [](const QPointF& point, double x) { return point.x() < x; };
  const auto begin = std::lower_bound(points.begin(), points.end(), area.left(), is_left);
  const auto end = std::lower_bound(begin, points.end(), area.right(), is_left);
  const qsizetype last = std::min(end - points.begin() + 1, points.size());
  QPolygonF seen;
  for (qsizetype first = std::max<qsizetype>(begin - points.begin() - 1, 0); first < last;) {
    qsizetype next = first, highest = first, lowest = first;
    for (; next < last && std::floor(points[next].x()) == std::floor(points[first].x()); ++next) {
      if (points[next].y() < points[highest].y()) highest = next;
      if (points[next].y() > points[lowest].y()) lowest = next;
    }
    qsizetype kept = -1;
    for (const qsizetype point :
         {first, std::min(highest, lowest), std::max(highest, lowest), next - 1}) {
      if (point > kept) seen << points[point];
      kept = point;
    }
    first = next;
  }
  return seen;
}

}  // namespace

void CompareCanvas::paint_drift(QPainter& painter, const Row& row) const {
  const StepComparison& step = comparison_->step;
  painter.fillRect(QRectF(0, row.top, width(), 1), theme()[Role::line]);
  const RowText title = text_of(row);
  draw_title(painter, row.top + 8, title.name, title.notes);
  std::int64_t lowest = 0, highest = 0;
  for (const DriftPoint& point : step.drift.points) {
    lowest = std::min(lowest, point.drift_ns);
    highest = std::max(highest, point.drift_ns);
  }
  const QRectF area(lane_left(), row.top + 14, axis_.width(), row.height - 24);
  const double range = std::max(static_cast<double>(highest - lowest), 1.0) * 1.1;
  const auto y_of = [&](double ns) {
    return area.bottom() - (ns - static_cast<double>(lowest)) / range * area.height();
  };
  const std::vector<double> ticks = value_ticks(range, 4);
  const double tick = ticks.size() > 1 ? ticks[1] : range;
  for (double value = std::ceil(static_cast<double>(lowest) / tick) * tick;
       value <= static_cast<double>(highest); value += tick) {
    draw_value(painter, y_of(value), round_time(value), width());
  }
  painter.setClipRect(QRectF(lane_left(), row.top, axis_.width(), row.height));
  painter.setRenderHint(QPainter::Antialiasing);
  QPolygonF all;
  for (const DriftPoint& point : step.drift.points) {
    all << QPointF(x_of(false, point.at_ns), y_of(static_cast<double>(point.drift_ns)));
  }
  const QPointF last = all.back();
  const QPolygonF line = seen_points(all, area);
  const std::int64_t end = step.drift.points.back().drift_ns;
  const QColor colour = theme()[end < 0 ? Role::focus : Role::warn];
  QPolygonF filled = line;
  filled << QPointF(line.back().x(), y_of(0)) << QPointF(line.front().x(), y_of(0));
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme().towards_canvas(colour, 0.82));
  painter.drawPolygon(filled);
  painter.setPen(QPen(theme()[Role::strong_line], 1));
  painter.drawLine(QPointF(lane_left(), y_of(0)), QPointF(width(), y_of(0)));
  painter.setPen(QPen(colour, 1.6));
  painter.setBrush(Qt::NoBrush);
  painter.drawPolyline(line);
  painter.setBrush(theme()[Role::canvas]);
  painter.drawEllipse(last, 3.5, 3.5);
  painter.setFont(gui::font(Text::secondary_strong));
  const QString text = signed_time_text(end);
  const double text_width = figure_width(painter.font(), text);
  const bool is_left = last.x() + text_width + 12 > width();
  // Right of the end; where there is no room on the side of zero that the curve leaves free.
  const double above = end < 0 ? y_of(0) - 20 : last.y() - 22;
  const QRectF end_box(
      is_left ? last.x() - text_width - 10 : last.x() + 8,
      std::clamp(is_left ? above : last.y() - 10, row.top, row.top + row.height - 20),
      text_width + 2, 18);
  painter.setPen(colour);
  draw_figure(painter, end_box, Qt::AlignLeft, text);
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  for (const PhaseDrift& phase : step.drift.phases) {
    if (phase.phase.empty() || std::abs(phase.drift_ns) * 20 < std::abs(end)) continue;
    const QString label =
        tr("%1 in %2").arg(signed_time_text(phase.drift_ns), QString::fromStdString(phase.phase));
    const double left = std::max(x_of(false, phase.time.start_ns), lane_left());
    const double right = std::min<double>(x_of(false, phase.time.end_ns), width());
    if (right - left < figure_width(painter.font(), label)) continue;
    draw_figure(painter, QRectF(left, row.top + 2, right - left, 18), Qt::AlignHCenter, label);
  }
}

void CompareCanvas::paint_memory(QPainter& painter, const Row& row) const {
  const StepComparison& step = comparison_->step;
  const SideWords& words = comparison_->sides;
  painter.fillRect(QRectF(0, row.top, width(), 1), theme()[Role::line]);
  const RowText title = text_of(row);
  draw_title(painter, row.top + 8, title.name, title.notes);

  const QRectF area(lane_left(), row.top + 8, axis_.width(), row.height - 14);
  std::int64_t most = 1;
  for (const StepSide* shown : {&step.baseline, &step.candidate}) {
    const MemoryCurve& curve = *shown->memory;
    if (curve.size() > 0) most = std::max(most, curve.allocated(curve.peak()));
  }
  most += most / 12;
  for (const std::int64_t bytes : byte_ticks(most, 2)) {
    const double share = static_cast<double>(bytes) / static_cast<double>(most);
    draw_value(painter, area.bottom() - share * area.height(), bytes_figure(bytes).text(), width());
  }
  for (const bool is_candidate : {false, true}) {
    const StepSide& shown = side(is_candidate);
    if (shown.memory->size() == 0) continue;
    MemoryPlot plot;
    plot.curve = shown.memory;
    plot.clock = shown.memory->best_clock();
    plot.is_predicted = is_candidate && words.is_prediction;
    plot.is_current = false;
    plot.most_bytes = most;
    // Only the step at hand: what came before and after is another step's.
    plot.shift_ns = -shown.step.start_ns;
    const double from = std::max(x_of(is_candidate, 0), area.left());
    const double to = std::min(x_of(is_candidate, shown.length_ns()), area.right());
    if (to <= from) continue;
    painter.save();
    painter.setClipRect(QRectF(from, row.top, to - from, row.height));
    painter.setRenderHint(QPainter::Antialiasing);
    plot.paint_allocated_line(painter, area, axis_,
                              theme()[is_candidate ? Role::focus : Role::text]);
    painter.restore();
  }
  painter.setFont(gui::font(Text::secondary));
  painter.setRenderHint(QPainter::Antialiasing);
  const double y = area.bottom() - 10;
  draw_key(painter, {lane_left() + 36, y}, words.baseline, theme()[Role::text], false);
  const double second = lane_left() + 36 + 40 + figure_width(painter.font(), words.baseline);
  draw_key(painter, {second, y}, words.candidate, theme()[Role::focus], words.is_prediction);
}

}  // namespace foreshard::gui
