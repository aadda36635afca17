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

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20, kGibibyte = std::int64_t{1} << 30;

}  // namespace

MemoryOverlay::MemoryOverlay(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Memory over the step"));
  const auto fit = [this] { setMinimumSize(scaled(380), scaled(220)); };
  connect(&Appearance::instance(), &Appearance::changed, this, fit);
  fit();
}

void MemoryOverlay::set_variants(std::vector<Variant> variants) {
  variants_ = std::move(variants);
  measure();
  update();
}

void MemoryOverlay::set_stale(bool is_stale) {
  if (is_stale == is_stale_) return;
  is_stale_ = is_stale;
  update();
}

void MemoryOverlay::set_in_time(bool in_time) {
  in_time_ = in_time;
  update();
}

void MemoryOverlay::set_fits_data(bool fits_data) {
  fits_data_ = fits_data;
  measure();
  update();
}

void MemoryOverlay::measure() {
  top_ = longest_ns_ = 1;
  for (const Variant& variant : variants_) {
    const Outcome& outcome = *variant.outcome;
    const std::int64_t capacity = fits_data_ ? 0 : outcome.capacity.value_or(0);
    top_ = std::max({top_, outcome.reserved, outcome.allocated, capacity});
    longest_ns_ = std::max(longest_ns_, outcome.curve_length);
  }
  top_ += top_ / 16;
}

bool MemoryOverlay::in_gib() const {
  return top_ >= 2 * kGibibyte;
}

QRectF MemoryOverlay::area() const {
  const double left = scaled(44), top = scaled(36);
  return QRectF(left, top, width() - left - 1, height() - top - scaled(26));
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
  const auto unit = static_cast<double>(in_gib() ? kGibibyte : kMebibyte);
  for (const std::int64_t bytes : byte_ticks(top_, 5)) {
    const double y = std::round(y_of(bytes));
    painter.fillRect(QRectF(area().left(), y, area().width(), 1),
                     t[bytes == 0 ? Role::strong_line : Role::grid]);
    painter.setPen(t[Role::text3]);
    draw_figure(painter, QRectF(0, y - scaled(8), scaled(36), scaled(16)), Qt::AlignRight,
                QString::number(static_cast<double>(bytes) / unit, 'g', 4));
  }
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double x = area().left() + area().width() * quarter / 4;
    const QString text = in_time_
                             ? time_figure(static_cast<double>(longest_ns_) * quarter / 4).text()
                             : QStringLiteral("%1 %").arg(25 * quarter);
    const double wide = scaled(70), left = quarter == 0   ? x
                                           : quarter == 4 ? x - wide
                                                          : x - wide / 2;
    draw_figure(painter, QRectF(left, area().bottom() + 5, wide, scaled(16)),
                quarter == 0   ? Qt::AlignLeft
                : quarter == 4 ? Qt::AlignRight
                               : Qt::AlignHCenter,
                text);
  }
}

double MemoryOverlay::end_of(const Variant& variant) const {
  const Outcome& outcome = *variant.outcome;
  return x_of(variant, outcome.fits ? outcome.curve_length : outcome.curve.back().position);
}

// One column a device pixel: of several levels in it the highest.
StepColumns MemoryOverlay::columns_of(const Variant& variant) const {
  const std::vector<MemoryStep>& curve = variant.outcome->curve;
  StepColumns columns{area().left(), 1 / devicePixelRatioF(), {}};
  const double most = std::max(1.0, (end_of(variant) - columns.left) / columns.width);
  columns.y.reserve(static_cast<std::size_t>(most));
  double level = y_of(curve.front().allocated);
  for (const MemoryStep& step : curve) {
    const double at = (x_of(variant, step.position) - columns.left) / columns.width;
    const auto column = static_cast<std::size_t>(std::clamp(at, 0.0, most - 1));
    columns.y.resize(std::max(columns.y.size(), column), level);
    level = y_of(step.allocated);
    if (columns.y.size() == column) {
      columns.y.push_back(level);
    } else {
      columns.y[column] = std::min(columns.y[column], level);
    }
  }
  columns.y.resize(static_cast<std::size_t>(most), level);
  return columns;
}

void MemoryOverlay::paint_curve(QPainter& painter, const Variant& variant) const {
  if (variant.outcome->curve.empty()) return;
  const StepColumns columns = columns_of(variant);
  if (variant.place == 0) {
    QColor fill = theme()[Role::text3];
    fill.setAlphaF(0.14F);
    fill_below(painter, columns, area().bottom(), fill);
  }
  draw_step_line(painter, columns, pen_of(variant));
  if (!variant.outcome->fits) {
    painter.fillRect(QRectF(columns.right(), area().top(), 2, columns.y.back() - area().top()),
                     theme()[Role::error]);
  }
}

void MemoryOverlay::paint_badge(QPainter& painter, const Variant& variant) const {
  const Outcome& outcome = *variant.outcome;
  if (outcome.curve.empty()) return;
  const double x = std::min(end_of(variant),
                            area().left() + area().width() * (0.44 + 0.07 * (variant.place % 4)));
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
  const bool has_room_below = reserved + scaled(20) < area().bottom();
  draw_figure(painter,
              QRectF(area().left() + 6, has_room_below ? reserved + 3 : reserved - scaled(19),
                     scaled(260), scaled(16)),
              Qt::AlignLeft, tr("reserved, now: %1").arg(bytes_figure(outcome.reserved).text()));
  if (!outcome.capacity || *outcome.capacity > top_) return;
  const double capacity = std::round(y_of(*outcome.capacity)) + 0.5;
  QPen pen(t[Role::error], 1.2);
  pen.setDashPattern({5, 3});
  painter.setPen(pen);
  painter.drawLine(QPointF(area().left(), capacity), QPointF(area().right(), capacity));
  painter.setPen(t[Role::error]);
  draw_figure(painter, QRectF(area().left(), capacity - scaled(18), area().width(), scaled(16)),
              Qt::AlignRight,
              tr("capacity of %1: %2")
                  .arg(outcome.settings.place(), bytes_figure(*outcome.capacity).text()));
}

void MemoryOverlay::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::canvas]);
  constexpr int kRoomForNote = 640;  // beside what is chosen over the plot
  const QString unit =
      in_gib() ? tr("allocated, GiB, worst rank") : tr("allocated, MiB, worst rank");
  draw_heading(painter, {0, static_cast<double>(scaled(18))}, tr("Memory over the step"),
               width() < scaled(kRoomForNote) ? QString() : unit);
  if (variants_.empty()) return;
  paint_axes(painter);
  if (is_stale_) painter.setOpacity(0.55);
  for (auto variant = variants_.rbegin(); variant != variants_.rend(); ++variant) {
    paint_curve(painter, *variant);
  }
  if (variants_.front().place == 0) paint_limits(painter, variants_.front());
  for (const Variant& variant : variants_) paint_badge(painter, variant);
}

}  // namespace foreshard::gui
