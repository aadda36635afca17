#include <QPaintEvent>
#include <algorithm>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"
#include "gui/paint/time_ticks.hpp"
#include "gui/views/base/memory_plot.hpp"
#include "gui/views/compare/compare_canvas.hpp"

namespace foreshard::gui {
namespace {

// Longer is amber, shorter is blue.
QColor difference_colour(std::int64_t difference) {
  return theme()[difference > 0 ? Role::warn : Role::focus];
}

QString lane_name(RowKind kind) {
  switch (kind) {
    case RowKind::compute: return CompareCanvas::tr("Compute");
    case RowKind::all_gather: return CompareCanvas::tr("All-gather");
    case RowKind::reduce_scatter: return CompareCanvas::tr("Reduce-scatter");
    case RowKind::all_reduce: return CompareCanvas::tr("All-reduce");
    case RowKind::stream: return CompareCanvas::tr("Other streams");
    case RowKind::exposed: return CompareCanvas::tr("Exposed");
    case RowKind::copies: return CompareCanvas::tr("Copies");
    default: return CompareCanvas::tr("Host compute");
  }
}

constexpr std::size_t kManyRibbons = 500;
constexpr double kRibbonPixels = 3;  // below, a ribbon is a line
constexpr double kLabelPixels = 16;  // below, no figure fits

TimeScale ribbon_scale(const StepComparison& step) {
  std::int64_t most = 0;
  for (const Ribbon& ribbon : step.ribbons) most = std::max(most, std::abs(ribbon.difference_ns()));
  return TimeScale(most);
}

}  // namespace

void CompareCanvas::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::canvas]);
  if (!comparison_) return;
  std::vector<TileRow> tiles;
  for (const Row& row : rows_) {
    if (row.top >= event->rect().bottom() + 1 || row.top + row.height <= event->rect().top()) {
      continue;
    }
    paint_row(painter, row);
    for (const Strip& strip : strips(row)) add_tiles(strip, tiles);
  }
  layer_.paint(painter, tiles, false);
  paint_selection(painter);
  draw_focus(painter, rect());
  tell_busy();
}

void CompareCanvas::paint_row(QPainter& painter, const Row& row) const {
  painter.save();
  switch (row.kind) {
    case RowKind::ruler: paint_ruler(painter, row); break;
    case RowKind::ribbons: paint_ribbons(painter, row); break;
    case RowKind::band: paint_band(painter, row); break;
    case RowKind::drift: paint_drift(painter, row); break;
    case RowKind::memory: paint_memory(painter, row); break;
    case RowKind::baseline_lane:
    case RowKind::candidate_lane:
    case RowKind::both_lanes: paint_header(painter, row, row.kind == RowKind::candidate_lane);
  }
  painter.restore();
}

void CompareCanvas::paint_selection(QPainter& painter) const {
  if (!selected_) return;
  painter.save();
  painter.setClipRect(QRectF(lane_left(), 0, axis_.width(), height()));
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme()[Role::selection], 2));
  for (const bool is_candidate : {false, true}) {
    const std::int32_t event = is_candidate ? selected_->candidate : selected_->baseline;
    const auto strip = strip_of(is_candidate, event);
    if (!strip) continue;
    QRectF box = box_of(*strip, event);
    box.setWidth(std::max(box.width(), 3.0));
    painter.drawRect(box.adjusted(1, 1, -1, -1));
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
  painter.drawText(box.adjusted(is_candidate && !is_of_step(row) ? 14 : 0, 0, 0, 0),
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

void CompareCanvas::paint_ribbons(QPainter& painter, const Row& row) const {
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  painter.drawText(QRectF(16, row.top, lane_left() - 26, row.height),
                   Qt::AlignLeft | Qt::AlignVCenter, text_of(row).name);
  const StepComparison& step = comparison_->step;
  painter.setClipRect(lanes_box(row));
  if (step.ribbons.empty()) {
    draw_figure(
        painter, lanes_box(row).adjusted(4, 0, -4, 0), Qt::AlignLeft,
        tr("No kernel of a unit has a counterpart by key, so no unit is joined with its own."));
    return;
  }
  const TimeScale scale = ribbon_scale(step);
  std::int64_t most = 1;
  for (const Ribbon& ribbon : step.ribbons) most = std::max(most, std::abs(ribbon.difference_ns()));
  const auto edge = [&](bool is_candidate, const traces::Interval& time, bool is_end) {
    const std::int64_t start = alignment_.place(is_candidate, time.start_ns);
    return lane_left() + axis_.pixel_of(start + (is_end ? time.end_ns - time.start_ns : 0));
  };
  const bool are_many = step.ribbons.size() > kManyRibbons;  // too many for outlines of narrow ones
  double label_right = lane_left(), drawn_to = 0;
  for (const Ribbon& ribbon : step.ribbons) {
    const double top_left = edge(false, ribbon.baseline, false);
    const double top_right = edge(false, ribbon.baseline, true);
    const double left = edge(true, ribbon.candidate, false);
    const double right = edge(true, ribbon.candidate, true);
    const auto is_seen = [&](double from, double to) {
      return to >= lane_left() && from <= width();
    };
    if (!is_seen(top_left, top_right) && !is_seen(left, right)) continue;
    const double widest = std::max(top_right - top_left, right - left);
    const double thickness = widest * row.height / std::hypot(row.height, left - top_left);
    const std::int64_t difference = ribbon.difference_ns();
    const double strength = static_cast<double>(std::abs(difference)) / static_cast<double>(most);
    const QColor fill =
        theme().towards_canvas(difference_colour(difference), 0.92 - 0.32 * strength);
    if (are_many &&
        (widest < kRibbonPixels || thickness < 1)) {  // one line for all beside one another
      if (top_left < drawn_to) continue;
      drawn_to = top_left + kRibbonPixels;
      painter.setRenderHint(QPainter::Antialiasing, false);
      painter.setPen(QPen(fill, 0));
      painter.drawLine(QPointF(top_left, row.top), QPointF(left, row.top + row.height));
      continue;
    }
    const bool is_outlined = !are_many || (widest >= kLabelPixels && thickness >= kRibbonPixels);
    painter.setRenderHint(QPainter::Antialiasing, is_outlined);
    painter.setPen(is_outlined ? QPen(theme()[Role::strong_line], 1) : QPen(Qt::NoPen));
    painter.setBrush(fill);
    painter.drawPolygon(QPolygonF({{top_left, row.top},
                                   {top_right, row.top},
                                   {right, row.top + row.height},
                                   {left, row.top + row.height}}));
    if (!is_outlined || widest < kLabelPixels) continue;
    const QString text = scale.signed_text(difference);
    const double centre = (top_left + top_right + left + right) / 4;
    const double half = figure_width(painter.font(), text) / 2;
    if (widest < 2 * half + 6 || centre - half < label_right) continue;
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

// A line with the area between it and `zero` filled. One with more corners than it is wide is drawn in columns: to
// stroke it takes longer than a frame has.
void paint_curve(QPainter& painter, const QPolygonF& line, double zero, QColor colour) {
  const QColor ground = theme().towards_canvas(colour, 0.82);
  if (static_cast<double>(line.size()) <= line.back().x() - line.front().x()) {
    QPolygonF filled = line;
    filled << QPointF(line.back().x(), zero) << QPointF(line.front().x(), zero);
    painter.setPen(Qt::NoPen);
    painter.setBrush(ground);
    painter.drawPolygon(filled);
    painter.setPen(QPen(colour, 1.6));
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(line);
    return;
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
  double low = line.front().y(), high = low;  // of a column, and where the one before it ended
  for (qsizetype n = 0; n < line.size(); ++n) {
    const double column = std::floor(line[n].x());
    low = std::min(low, line[n].y());
    high = std::max(high, line[n].y());
    const bool is_last = n + 1 == line.size();
    const double next = is_last ? column + 1 : std::floor(line[n + 1].x());
    if (next == column) continue;
    const double wide = next - column, y = line[n].y();
    painter.fillRect(QRectF(column, std::min(y, zero), wide, std::abs(y - zero)), ground);
    painter.fillRect(QRectF(column, low - 1, 1, high - low + 2), colour);
    painter.fillRect(QRectF(column, y - 1, wide, 2), colour);
    low = high = y;
  }
  painter.setRenderHint(QPainter::Antialiasing);
}

}  // namespace

QPolygonF CompareCanvas::drift_line() const {
  QPolygonF line;
  for (const Alignment::Piece& piece : alignment_.pieces(false, least_piece_ns())) {
    const traces::Interval seen{std::max(piece.time.start_ns, axis_.start_ns() - piece.by_ns),
                                std::min(piece.time.end_ns + 1, axis_.end_ns() - piece.by_ns)};
    if (seen.end_ns <= seen.start_ns) continue;
    for (const DriftPoint& point : comparison_->step.drift.seen(seen, axis_.ns_per_pixel())) {
      const double x = lane_left() + axis_.pixel_of(point.at_ns + piece.by_ns);
      if (line.isEmpty() || x >= line.back().x()) {
        line << QPointF(x, static_cast<double>(point.drift_ns));
      }
    }
  }
  return line;
}

void CompareCanvas::paint_drift(QPainter& painter, const Row& row) const {
  const StepComparison& step = comparison_->step;
  painter.fillRect(QRectF(0, row.top, width(), 1), theme()[Role::line]);
  const RowText title = text_of(row);
  draw_title(painter, row.top + 8, title.name, title.notes);
  const std::int64_t lowest = step.drift.lowest_ns(), highest = step.drift.highest_ns();
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
  QPolygonF line = drift_line();
  for (QPointF& point : line) point.setY(y_of(point.y()));
  if (line.isEmpty()) return;
  const std::int64_t end = step.drift.end_ns();
  const DriftPoint last_point = step.drift.point(step.drift.size() - 1);
  const QPointF last(x_of(false, last_point.at_ns), y_of(static_cast<double>(end)));
  const QColor colour = theme()[end < 0 ? Role::focus : Role::warn];
  paint_curve(painter, line, y_of(0), colour);
  painter.setPen(QPen(theme()[Role::strong_line], 1));
  painter.drawLine(QPointF(lane_left(), y_of(0)), QPointF(width(), y_of(0)));
  painter.setPen(QPen(colour, 1.6));
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
  for (const PhaseDrift& phase : step.drift.phases()) {
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
    draw_value(painter, area.bottom() - share * area.height(), round_bytes_text(bytes), width());
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
      const bool has_ours = !step.baseline.trace().steps.empty();
      const bool has_theirs = !step.candidate.trace().steps.empty();
      if (!has_ours && !has_theirs) return {tr("All of both"), {}, {}};
      if (!has_ours) return {tr("All and step %1").arg(choice.candidate_step), {}, {}};
      if (!has_theirs) return {tr("Step %1 and all").arg(choice.baseline_step), {}, {}};
      return {choice.baseline_step == choice.candidate_step
                  ? tr("Step %1 of both").arg(choice.baseline_step)
                  : tr("Steps %1 and %2").arg(choice.baseline_step).arg(choice.candidate_step),
              {},
              {}};
    }
    case RowKind::ribbons:
      return {step.ribbons.empty() ? tr("difference")
                                   : tr("difference, %1").arg(ribbon_scale(step).unit()),
              {},
              {}};
    case RowKind::band: return {band_text(), {}, {}};
    case RowKind::drift:
      return {tr("Drift"), signed_time_text(step.drift.end_ns()),
              words.is_prediction ? QStringList{tr("predicted"), tr("− measured")}
                                  : QStringList{tr("after"), tr("− before")}};
    case RowKind::baseline_lane:
    case RowKind::candidate_lane:
    case RowKind::both_lanes: return text_of_lane(row);
    case RowKind::memory: break;
  }
  RowText memory{tr("Memory"), {}, {tr("allocated, rank %1").arg(step.choice.rank)}};
  for (const bool is_candidate : {false, true}) {
    if (step.side(is_candidate).memory->size() > 0) continue;
    memory.notes << tr("not recorded %1").arg(is_candidate ? words.candidate : words.baseline);
    return memory;
  }
  for (const profiler::RankMemoryDifference& rank : comparison_->whole->ranks) {
    if (rank.rank != step.choice.rank) continue;
    const std::int64_t apart = rank.candidate_allocated_bytes - rank.baseline_allocated_bytes;
    memory.notes << (apart == 0 ? tr("0 B apart")
                                : tr("peak %1").arg(signed_text(bytes_figure(apart), apart < 0)));
  }
  return memory;
}

// Of phases and units it is the step that has a length.
CompareCanvas::RowText CompareCanvas::text_of_lane(const Row& row) const {
  const StepComparison& step = comparison_->step;
  const LanePair& lane = step.lanes[row.lane];
  const bool is_candidate = row.kind == RowKind::candidate_lane;
  const QString& word = is_candidate ? comparison_->sides.candidate : comparison_->sides.baseline;
  if (!is_of_step(row)) {
    const std::int64_t busy = lane.side(is_candidate).busy_ns;
    return {is_candidate ? word : lane_name(lane.kind), busy > 0 ? duration(busy) : tr("none"), {}};
  }
  const bool has_length =
      comparison_->are_steps_comparable() &&
      (lane.kind == gui::RowKind::phase || arrangement_ == Arrangement::by_instruction ||
       step.lane(gui::RowKind::phase) == nullptr);
  return {lane.kind == gui::RowKind::phase ? tr("Step, %1").arg(word) : tr("Units, %1").arg(word),
          has_length ? duration(step.side(is_candidate).length_ns()) : QString(),
          {}};
}

QString CompareCanvas::band_text() const {
  const StepComparison& step = comparison_->step;
  const profiler::Comparison& whole = *comparison_->whole;
  const QString apart = signed_time_text(step.difference_ns());
  const QString picture = step.choice.baseline_step == step.choice.candidate_step
                              ? tr("step %1").arg(step.choice.baseline_step)
                              : tr("these steps");
  const QString ends = !comparison_->band ? tr("%1: ends %2 apart").arg(picture, apart)
                       : comparison_->band_holds(step.baseline.length_ns())
                           ? tr("90 % band of the step's end; %1 measured inside").arg(picture)
                           : tr("90 % band of the step's end; %1 measured outside").arg(picture);
  const auto steps =
      std::pair(whole.baseline.steady_steps.size(), whole.candidate.steady_steps.size());
  if (std::max(steps.first, steps.second) < 2) return ends;
  return tr("%1 (medians of %2 steps: %3)")
      .arg(ends,
           steps.first == steps.second ? QString::number(steps.first)
                                       : tr("%1 and %2").arg(steps.first).arg(steps.second),
           signed_time_text(whole.candidate_step_ns - whole.baseline_step_ns));
}

QString CompareCanvas::event_text(const Hit& hit) const {
  const traces::Trace& trace = side(hit.is_candidate).trace();
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
