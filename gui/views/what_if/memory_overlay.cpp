#include "gui/views/what_if/memory_overlay.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"
#include "gui/paint/time_ticks.hpp"

namespace foreshard::gui {
namespace {

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

// Steps, one point a pixel at most: of several in a pixel the highest.
QPolygonF steps(const std::vector<MemoryStep>& curve, double end, const auto& x, const auto& y) {
  QPolygonF line;
  double column = -1, previous = y(curve.front().allocated);
  for (const MemoryStep& step : curve) {
    const double here = std::round(x(step.position) * 2) / 2, level = y(step.allocated);
    if (here > column) {
      line << QPointF(here, previous) << QPointF(here, level);
      column = here;
    } else {
      line.back().setY(std::min(line.back().y(), level));
    }
    previous = level;
  }
  return line << QPointF(end, previous);
}

}  // namespace

MemoryOverlay::MemoryOverlay(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Memory over the step"));
  setMinimumSize(380, 220);
}

void MemoryOverlay::set_variants(std::vector<Variant> variants) {
  variants_ = std::move(variants);
  measure();
  update();
}

void MemoryOverlay::set_stale(bool is_stale) {
  is_stale_ = is_stale;
  update();
}

void MemoryOverlay::set_in_time(bool in_time) {
  in_time_ = in_time;
  update();
}

void MemoryOverlay::measure() {
  top_ = longest_ns_ = 1;
  for (const Variant& variant : variants_) {
    const Outcome& outcome = *variant.outcome;
    top_ = std::max({top_, outcome.reserved, outcome.allocated, outcome.capacity.value_or(0)});
    longest_ns_ = std::max(longest_ns_, outcome.curve_length);
  }
  top_ += top_ / 16;
}

QRectF MemoryOverlay::area() const {
  return QRectF(44, 36, width() - 44 - 1, height() - 36 - 26);
}

double MemoryOverlay::x_of(const Variant& variant, std::int64_t position) const {
  const std::int64_t whole = in_time_ ? longest_ns_ : variant.outcome->curve_length;
  return area().left() + area().width() * static_cast<double>(position) /
                             static_cast<double>(std::max<std::int64_t>(1, whole));
}

double MemoryOverlay::y_of(std::int64_t bytes) const {
  return area().bottom() - area().height() * static_cast<double>(bytes) / static_cast<double>(top_);
}

void MemoryOverlay::paint_axes(QPainter& painter) const {
  const Theme& t = theme();
  painter.setFont(gui::font(Text::tick));
  const bool in_gib = top_ >= 2 * kGibibyte;
  for (const std::int64_t bytes : byte_ticks(top_, 5)) {
    const double y = std::round(y_of(bytes));
    painter.fillRect(QRectF(area().left(), y, area().width(), 1),
                     t[bytes == 0 ? Role::strong_line : Role::grid]);
    painter.setPen(t[Role::text3]);
    const QString text = in_gib ? QString::number(bytes / kGibibyte) : bytes_figure(bytes).text();
    draw_figure(painter, QRectF(0, y - 8, 36, 16), Qt::AlignRight, text);
  }
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double x = area().left() + area().width() * quarter / 4;
    const QString text = in_time_
                             ? time_figure(static_cast<double>(longest_ns_) * quarter / 4).text()
                             : QStringLiteral("%1 %").arg(25 * quarter);
    const double wide = 70, left = quarter == 0 ? x : quarter == 4 ? x - wide : x - wide / 2;
    draw_figure(painter, QRectF(left, area().bottom() + 5, wide, 16),
                quarter == 0   ? Qt::AlignLeft
                : quarter == 4 ? Qt::AlignRight
                               : Qt::AlignHCenter,
                text);
  }
}

void MemoryOverlay::paint_curve(QPainter& painter, const Variant& variant) const {
  const Outcome& outcome = *variant.outcome;
  if (outcome.curve.empty()) return;
  const double end = outcome.fits ? x_of(variant, outcome.curve_length)
                                  : x_of(variant, outcome.curve.back().position);
  QPolygonF line = steps(
      outcome.curve, end, [&](std::int64_t at) { return x_of(variant, at); },
      [this](std::int64_t bytes) { return y_of(bytes); });
  if (variant.place == 0) {
    QPolygonF filled = line;
    filled << QPointF(end, area().bottom()) << QPointF(line.front().x(), area().bottom());
    QColor fill = theme()[Role::text3];
    fill.setAlphaF(0.14F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    painter.drawPolygon(filled);
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(line_of(variant));
  painter.drawPolyline(line);
  if (!outcome.fits) {
    painter.setPen(QPen(theme()[Role::error], 2));
    painter.drawLine(QPointF(end, line.back().y()), QPointF(end, area().top()));
  }
}

void MemoryOverlay::paint_badge(QPainter& painter, const Variant& variant) const {
  const Outcome& outcome = *variant.outcome;
  if (outcome.curve.empty()) return;
  const double end =
      x_of(variant, outcome.fits ? outcome.curve_length : outcome.curve.back().position);
  const double x =
      std::min(end, area().left() + area().width() * (0.44 + 0.07 * (variant.place % 4)));
  std::int64_t bytes = outcome.curve.front().allocated;
  for (const MemoryStep& step : outcome.curve) {
    if (x_of(variant, step.position) > x) break;
    bytes = step.allocated;
  }
  draw_badge(painter, {x, y_of(bytes)}, variant);
}

void MemoryOverlay::paint_limits(QPainter& painter, const Variant& now) const {
  const Theme& t = theme();
  const Outcome& outcome = *now.outcome;
  const double reserved = std::round(y_of(outcome.reserved));
  painter.fillRect(QRectF(area().left(), reserved, area().width(), 1), t[Role::text2]);
  painter.setFont(gui::font(Text::tick));
  painter.setPen(t[Role::text2]);
  draw_figure(painter, QRectF(area().left() + 6, reserved + 3, 260, 16), Qt::AlignLeft,
              tr("reserved, now: %1").arg(bytes_figure(outcome.reserved).text()));
  if (!outcome.capacity) return;
  const double capacity = std::round(y_of(*outcome.capacity)) + 0.5;
  QPen pen(t[Role::error], 1.2);
  pen.setDashPattern({5, 3});
  painter.setPen(pen);
  painter.drawLine(QPointF(area().left(), capacity), QPointF(area().right(), capacity));
  painter.setPen(t[Role::error]);
  draw_figure(painter, QRectF(area().left(), capacity - 18, area().width(), 16), Qt::AlignRight,
              tr("capacity of %1: %2")
                  .arg(outcome.settings.costs->name, bytes_figure(*outcome.capacity).text()));
}

void MemoryOverlay::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::canvas]);
  draw_heading(painter, {0, 18}, tr("Memory over the step"), tr("allocated, GiB, worst rank"));
  if (variants_.empty()) return;
  paint_axes(painter);
  if (is_stale_) painter.setOpacity(0.55);
  painter.setRenderHint(QPainter::Antialiasing);
  for (auto variant = variants_.rbegin(); variant != variants_.rend(); ++variant) {
    paint_curve(painter, *variant);
  }
  if (variants_.front().place == 0) paint_limits(painter, variants_.front());
  for (const Variant& variant : variants_) paint_badge(painter, variant);
}

}  // namespace foreshard::gui
