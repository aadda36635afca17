#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/models/timeline/row_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"
#include "gui/paint/time_ticks.hpp"
#include "gui/views/base/memory_plot.hpp"
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

// The curves of the comparison's canvas: drift and memory.

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

// What the comparison's canvas says: the names and figures of its rows and the cards of events, to
// be drawn and for assistive technology.

namespace {

QString duration(std::int64_t ns) {
  return time_figure(static_cast<double>(ns)).text();
}

}  // namespace

CompareCanvas::RowText CompareCanvas::text_of(const Row& row) const {
  const StepComparison& step = comparison_->step;
  const SideWords& words = comparison_->sides;
  switch (row.kind) {
    case RowKind::ruler: {
      const StepChoice& choice = step.choice;
      return {choice.baseline_step == choice.candidate_step
                  ? tr("Step %1 of both").arg(choice.baseline_step)
                  : tr("Steps %1 and %2").arg(choice.baseline_step).arg(choice.candidate_step),
              {},
              {}};
    }
    case RowKind::baseline_units:
      return {tr("Units, %1").arg(words.baseline), duration(step.baseline.length_ns()), {}};
    case RowKind::candidate_units:
      return {tr("Units, %1").arg(words.candidate), duration(step.candidate.length_ns()), {}};
    case RowKind::ribbons: return {tr("difference, ms"), {}, {}};
    case RowKind::band: return {band_text(), {}, {}};
    case RowKind::drift:
      return {tr("Drift"), signed_time_text(step.drift.points.back().drift_ns),
              words.is_prediction ? QStringList{tr("predicted"), tr("− measured")}
                                  : QStringList{tr("after"), tr("− before")}};
    case RowKind::baseline_lane:
    case RowKind::both_lanes: {
      const LanePair& lane = step.lanes[row.lane];
      return {lane_name(lane.kind), duration(lane.baseline.busy_ns), {}};
    }
    case RowKind::candidate_lane:
      return {words.candidate, duration(step.lanes[row.lane].candidate.busy_ns), {}};
    case RowKind::memory: break;
  }
  RowText memory{tr("Memory"), {}, {tr("allocated, rank %1").arg(step.choice.rank)}};
  for (const profiler::RankMemoryDifference& rank : comparison_->whole->ranks) {
    if (rank.rank != step.choice.rank) continue;
    const std::int64_t apart = rank.candidate_allocated_bytes - rank.baseline_allocated_bytes;
    memory.notes << (apart == 0 ? tr("0 B apart")
                                : tr("peak %1").arg(signed_text(bytes_figure(apart), apart < 0)));
  }
  return memory;
}

QString CompareCanvas::band_text() const {
  const StepComparison& step = comparison_->step;
  if (!comparison_->band) {
    return tr("ends of the steps: %1 apart").arg(signed_time_text(step.difference_ns()));
  }
  return comparison_->band_holds(step.baseline.length_ns())
             ? tr("90 % band of the step's end; measured inside")
             : tr("90 % band of the step's end; measured outside");
}

QString CompareCanvas::event_text(const Hit& hit) const {
  const traces::Trace& trace = *side(hit.is_candidate).trace;
  const auto& found = trace.events[static_cast<std::size_t>(hit.event)];
  QString shown = QString::fromStdString(trace.strings[found.name]);
  if (found.unit != 0)
    shown += QStringLiteral(" · ") + QString::fromStdString(trace.strings[found.unit]);
  const ComparedPair* pair = comparison_->step.pair_of(hit.is_candidate, hit.event);
  if (pair == nullptr) {
    return tr("%1\n%2 %3, without a counterpart")
        .arg(shown, duration(found.end_ns - found.start_ns),
             hit.is_candidate ? comparison_->sides.candidate : comparison_->sides.baseline);
  }
  return tr("%1\n%2 %3, %4 %5: %6")
      .arg(shown, duration(pair->baseline_ns), comparison_->sides.baseline,
           duration(pair->candidate_ns), comparison_->sides.candidate,
           signed_percent_text(pair->candidate_ns, pair->baseline_ns));
}

AccessibleItem CompareCanvas::accessible_row(int number) const {
  const Row& row = rows_[static_cast<std::size_t>(number)];
  const RowText text = text_of(row);
  const QStringList parts = QStringList{text.name, text.figure} + text.notes;
  return {parts.join(QLatin1Char('\t')).trimmed(), QRectF(0, row.top, width(), row.height)};
}

std::optional<AccessibleItem> CompareCanvas::accessible_selection() const {
  if (!selected_) return std::nullopt;
  const bool is_candidate = selected_->baseline == traces::kNone;
  const std::int32_t event = is_candidate ? selected_->candidate : selected_->baseline;
  const QPointF centre = centre_of(is_candidate, event);
  return AccessibleItem{event_text({is_candidate, event}),
                        QRectF(centre - QPointF(4, 4), QSizeF(8, 8))};
}

}  // namespace foreshard::gui
