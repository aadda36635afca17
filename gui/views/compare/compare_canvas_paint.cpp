#include <algorithm>
#include <cmath>

#include "gui/models/timeline/row_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"
#include "gui/paint/time_ticks.hpp"
#include "gui/views/compare/compare_canvas.hpp"
#include "gui/views/compare/compare_layout.hpp"
#include "gui/views/compare/lane_boxes.hpp"

namespace foreshard::gui {
namespace {

// Longer is amber, shorter is blue.
QColor difference_colour(std::int64_t difference) {
  return theme()[difference > 0 ? Role::warn : Role::focus];
}

QColor unit_colour(const UnitSpan& span) {
  if (span.depth >= 0) return theme().unit(span.depth, span.is_odd);
  return theme()[span.unit == span.phase ? role_of_phase(span.phase) : Role::host];
}

QString unit_label(const UnitSpan& span, const QFontMetricsF& metrics, double room) {
  const QString whole =
      span.phase == "optimizer" ? CompareCanvas::tr("opt") : short_unit(span.unit);
  const QString brief = whole.section(QLatin1Char('.'), -1);
  for (const QString& text : {whole, brief}) {
    if (metrics.horizontalAdvance(text) + 8 <= room) return text;
  }
  return {};
}

}  // namespace

void CompareCanvas::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::canvas]);
  if (!comparison_) return;
  for (const Row& row : rows_) {
    if (row.top < event->rect().bottom() + 1 && row.top + row.height > event->rect().top()) {
      paint_row(painter, row);
    }
  }
  draw_focus(painter, rect());
}

void CompareCanvas::paint_row(QPainter& painter, const Row& row) const {
  painter.save();
  switch (row.kind) {
    case RowKind::ruler: paint_ruler(painter, row); break;
    case RowKind::baseline_units: paint_units(painter, row, false); break;
    case RowKind::candidate_units: paint_units(painter, row, true); break;
    case RowKind::ribbons: paint_ribbons(painter, row); break;
    case RowKind::band: paint_band(painter, row); break;
    case RowKind::drift: paint_drift(painter, row); break;
    case RowKind::memory: paint_memory(painter, row); break;
    case RowKind::baseline_lane:
    case RowKind::candidate_lane:
    case RowKind::both_lanes: {
      const bool is_candidate = row.kind == RowKind::candidate_lane;
      paint_header(painter, row, is_candidate);
      if (row.kind == RowKind::both_lanes) {
        QRectF half = lanes_box(row);
        half.setHeight(half.height() / 2);
        paint_lane(painter, half, row.lane, false);
        paint_lane(painter, half.translated(0, half.height()), row.lane, true);
      } else {
        paint_lane(painter, lanes_box(row), row.lane, is_candidate);
      }
      break;
    }
  }
  painter.restore();
}

void CompareCanvas::paint_header(QPainter& painter, const Row& row, bool is_candidate) const {
  const QRectF gutter(0, row.top, 5, row.height);
  const bool is_hatched = is_candidate && comparison_->sides.is_prediction;
  painter.fillRect(gutter, is_hatched ? QBrush(theme()[Role::canvas]) : theme()[Role::text3]);
  if (is_hatched) painter.fillRect(gutter, hatch(theme()[Role::text3], Hatch::diagonal, 4));
  const RowText text = text_of(row);
  const QRectF box(16, row.top, lane_left() - 26, row.height);
  painter.setFont(gui::font(is_candidate ? Text::secondary : Text::body));
  painter.setPen(theme()[is_candidate ? Role::text2 : Role::text]);
  painter.drawText(box.adjusted(row.kind == RowKind::candidate_lane ? 14 : 0, 0, 0, 0),
                   Qt::AlignLeft | Qt::AlignVCenter, text.name);
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  draw_figure(painter, box, Qt::AlignRight, text.figure);
}

void CompareCanvas::paint_ruler(QPainter& painter, const Row& row) const {
  painter.fillRect(QRectF(0, row.top, width(), row.height), theme()[Role::panel]);
  painter.fillRect(QRectF(0, row.top + row.height - 1, width(), 1), theme()[Role::line]);
  painter.setFont(gui::font(Text::secondary_strong));
  painter.setPen(theme()[Role::text]);
  painter.drawText(QRectF(16, row.top, lane_left() - 20, row.height),
                   Qt::AlignLeft | Qt::AlignVCenter, text_of(row).name);
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  painter.setClipRect(lanes_box(row));
  for (const Tick& tick :
       time_ticks(axis_.start_ns(), 0, axis_.ns_per_pixel(), axis_.width(), 160)) {
    const double x = lane_left() + tick.pixel;
    const double length = tick.text.isEmpty() ? 4 : 8;
    painter.fillRect(QRectF(x, row.top + row.height - length, 1, length),
                     theme()[Role::strong_line]);
    draw_figure(painter, QRectF(x - 60, row.top, 120, row.height - 4), Qt::AlignHCenter, tick.text);
  }
}

void CompareCanvas::paint_units(QPainter& painter, const Row& row, bool is_candidate) const {
  const StepSide& shown = side(is_candidate);
  paint_header(painter, row, is_candidate);
  const bool is_pale = is_candidate && comparison_->sides.is_prediction;
  const QFont label_font = gui::font(Text::secondary_strong);
  const QFontMetricsF metrics(label_font);
  painter.setFont(label_font);
  painter.setClipRect(lanes_box(row));
  for (const UnitSpan& span : shown.units) {
    const double left = std::round(x_of(is_candidate, span.time.start_ns));
    const double right =
        std::round(lane_left() + axis_.pixel_of(alignment_.place(is_candidate, span.time.start_ns) +
                                                span.time.end_ns - span.time.start_ns));
    const QRectF box(left, row.top, std::max(right - left - (right - left > 5 ? 1 : 0), 1.0),
                     row.height);
    if (box.right() < lane_left() || box.left() > width()) continue;
    const QColor colour = unit_colour(span);
    const QColor fill = is_pale ? theme().towards_canvas(colour, 0.62) : colour;
    painter.fillRect(box, fill);
    if (is_pale) {
      painter.fillRect(box, hatch(theme().towards_canvas(colour, 0.35), Hatch::diagonal, 5));
      if (box.width() > 3) {
        painter.setPen(colour);
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
      }
    }
    const QRectF shown_box = box.intersected(lanes_box(row));
    const QString text = unit_label(span, metrics, shown_box.width());
    if (text.isEmpty()) continue;
    if (is_pale) {
      const double wide = metrics.horizontalAdvance(text);
      const QRectF ground(shown_box.center().x() - wide / 2 - 3, box.top() + 4, wide + 6,
                          box.height() - 8);
      painter.fillRect(ground, fill);
    }
    painter.setPen(theme().text_on(fill));
    painter.drawText(shown_box, Qt::AlignCenter, text);
  }
}

void CompareCanvas::paint_ribbons(QPainter& painter, const Row& row) const {
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  painter.drawText(QRectF(16, row.top, lane_left() - 26, row.height),
                   Qt::AlignLeft | Qt::AlignVCenter, text_of(row).name);
  const StepComparison& step = comparison_->step;
  std::int64_t most = 1;
  for (const Ribbon& ribbon : step.ribbons) most = std::max(most, std::abs(ribbon.difference_ns));
  painter.setClipRect(lanes_box(row));
  painter.setRenderHint(QPainter::Antialiasing);
  const QFontMetricsF metrics(painter.font());
  const auto edge = [&](bool is_candidate, const UnitSpan& span, bool is_end) {
    const std::int64_t start = alignment_.place(is_candidate, span.time.start_ns);
    return lane_left() +
           axis_.pixel_of(start + (is_end ? span.time.end_ns - span.time.start_ns : 0));
  };
  double label_right = lane_left();
  for (const Ribbon& ribbon : step.ribbons) {
    const UnitSpan &above = step.baseline.units[ribbon.baseline],
                   &below = step.candidate.units[ribbon.candidate];
    const double top_left = edge(false, above, false), top_right = edge(false, above, true);
    const double left = edge(true, below, false), right = edge(true, below, true);
    if (std::max(top_right, right) < lane_left() || std::min(top_left, left) > width()) continue;
    const double strength =
        static_cast<double>(std::abs(ribbon.difference_ns)) / static_cast<double>(most);
    const QColor colour = difference_colour(ribbon.difference_ns);
    painter.setPen(QPen(theme()[Role::strong_line], 1));
    painter.setBrush(theme().towards_canvas(colour, 0.92 - 0.32 * strength));
    painter.drawPolygon(QPolygonF({{top_left, row.top},
                                   {top_right, row.top},
                                   {right, row.top + row.height},
                                   {left, row.top + row.height}}));
    const QString text =
        (ribbon.difference_ns < 0 ? QString(QChar(0x2212)) : QStringLiteral("+")) +
        QString::number(static_cast<double>(std::abs(ribbon.difference_ns)) / 1e6, 'f', 1);
    const double centre = (top_left + top_right + left + right) / 4;
    const double half = figure_width(painter.font(), text) / 2;
    if (std::max(top_right - top_left, right - left) < 2 * half + 6 ||
        centre - half < label_right) {
      continue;
    }
    label_right = centre + half + 6;
    painter.setPen(theme()[Role::text]);
    draw_figure(painter, QRectF(centre - half, row.top, 2 * half, row.height), Qt::AlignHCenter,
                text);
  }
}

void CompareCanvas::paint_band(QPainter& painter, const Row& row) const {
  const StepComparison& step = comparison_->step;
  const double middle = std::round(row.top + row.height / 2) + 0.5;
  const double measured = x_of(false, step.baseline.length_ns());
  const double predicted = x_of(true, step.candidate.length_ns());
  painter.setClipRect(lanes_box(row));
  const auto tick = [&](double x, QColor colour) {
    painter.setPen(QPen(colour, 2));
    painter.drawLine(QPointF(x, middle - 6), QPointF(x, middle + 6));
  };
  double left = std::min(measured, predicted);
  if (comparison_->band) {
    const traces::Interval& band = *comparison_->band;
    const double low = x_of(true, band.start_ns), high = x_of(true, band.end_ns);
    painter.setPen(QPen(theme()[Role::text2], 1));
    painter.drawLine(QPointF(low, middle), QPointF(high, middle));
    painter.drawLine(QPointF(low, middle - 4), QPointF(low, middle + 4));
    painter.drawLine(QPointF(high, middle - 4), QPointF(high, middle + 4));
    left = std::min(left, low);
  }
  const Role state = !comparison_->band                                   ? Role::text2
                     : comparison_->band_holds(step.baseline.length_ns()) ? Role::ok
                                                                          : Role::warn;
  tick(measured, theme()[state]);
  tick(predicted, theme()[Role::text]);
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  const QRectF room(lane_left() + 4, row.top, left - lane_left() - 14, row.height);
  draw_figure(painter, room, Qt::AlignRight,
              elided_figure(painter.font(), text_of(row).name, room.width()));
}

void CompareCanvas::paint_lane(QPainter& painter, const QRectF& box, std::size_t lane,
                               bool is_candidate) const {
  const LanePair& pair = comparison_->step.lanes[lane];
  painter.setClipRect(box);
  LaneBoxes drawn{box, is_candidate && comparison_->sides.is_prediction};
  for (const ComparedBox& one : (is_candidate ? pair.candidate : pair.baseline).boxes) {
    drawn.add(painter, x_of(is_candidate, one.time.start_ns), x_of(is_candidate, one.time.end_ns),
              one.colour, is_selected(is_candidate, one.event));
  }
  drawn.finish(painter);
}

}  // namespace foreshard::gui
