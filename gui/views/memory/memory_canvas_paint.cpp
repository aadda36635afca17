#include <QPainter>
#include <cmath>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"
#include "gui/paint/time_ticks.hpp"
#include "gui/views/memory/memory_canvas.hpp"

namespace foreshard::gui {
namespace {

constexpr double kRuler = 24, kPhases = 20, kBelow = 1;

// Ticks of an axis that counts events.
std::vector<Tick> event_ticks(const TimeAxis& axis) {
  const double spacing = static_cast<double>(kEventSpacingNs);
  const double first = static_cast<double>(axis.start_ns()) / spacing;
  const double per_pixel = axis.ns_per_pixel() / spacing;
  const double last = first + axis.width() * per_pixel;
  std::vector<Tick> ticks;
  const std::vector<double> round =
      value_ticks(last - first, std::max(static_cast<int>(axis.width() / 110), 1));
  const double step = round.size() < 2 ? 1 : std::max(round[1], 1.0);
  for (double n = std::ceil(std::max(first, 0.0) / step); n * step <= last; ++n) {
    ticks.push_back({(n * step - first) / per_pixel, count_figure(std::llround(n * step)).text()});
  }
  return ticks;
}

void draw_line(QPainter& painter, double x1, double y1, double x2, double y2) {
  painter.drawLine(QPointF(x1, y1), QPointF(x2, y2));
}

}  // namespace

QRectF MemoryCanvas::plot_area() const {
  const double top = kRuler + kPhases;
  return {double(kGutter), top, std::max(width() - kGutter, 1) * 1.0,
          std::max(height() - top - kBelow, 1.0)};
}

void MemoryCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const double ratio = picture_ratio(painter);
  if (picture_.isNull() || picture_.devicePixelRatio() != ratio ||
      picture_.size() != size() * ratio) {
    picture_ = draw(ratio);
  }
  painter.drawPixmap(0, 0, picture_);
  if (memory_ == nullptr || memory_->is_empty()) return;
  draw_range(painter);
  draw_life(painter);
  draw_since(painter);
  const QRectF pill = draw_cursor(painter);
  draw_ruler(painter, pill);
  draw_peak(painter);
  draw_failure(painter);
  draw_focus(painter, QRectF(rect()).adjusted(1, 1, -1, -1), 0);
}

QPixmap MemoryCanvas::draw(double ratio) const {
  QPixmap picture(size() * ratio);
  picture.setDevicePixelRatio(ratio);
  picture.fill(theme()[Role::canvas]);
  QPainter painter(&picture);
  if (memory_ == nullptr || memory_->is_empty()) return picture;
  draw_grid(painter);
  draw_phases(painter);
  draw_scale(painter);
  const QRectF area = plot_area();
  plot_.paint_areas(painter, area, *axis_);
  plot_.paint_reserved_line(painter, area, *axis_);
  plot_.paint_labels(painter, area, *axis_);
  draw_reserved_label(painter);
  draw_capacity(painter);
  painter.setPen(theme()[Role::strong_line]);
  draw_line(painter, 0, height() - 0.5, width(), height() - 0.5);
  return picture;
}

std::vector<Tick> MemoryCanvas::ticks() const {
  if (plot_.clock == MemoryClock::event_order) return event_ticks(*axis_);
  return time_ticks(axis_->start_ns(), origin(), axis_->ns_per_pixel(), axis_->width());
}

void MemoryCanvas::draw_grid(QPainter& painter) const {
  for (const Tick& tick : ticks()) {
    const double x = std::floor(kGutter + tick.pixel) + 0.5;
    painter.setPen(theme()[tick.text.isEmpty() ? Role::line : Role::strong_line]);
    draw_line(painter, x, tick.text.isEmpty() ? kRuler - 4 : kRuler - 7, x, kRuler);
    if (tick.text.isEmpty()) continue;
    painter.setPen(theme()[Role::grid]);
    draw_line(painter, x, plot_area().top(), x, height());
  }
  painter.setPen(theme()[Role::line]);
  draw_line(painter, 0, kRuler - 0.5, width(), kRuler - 0.5);
}

// Figures that the cursor's pill would cover are left out.
void MemoryCanvas::draw_ruler(QPainter& painter, const QRectF& pill) const {
  painter.setFont(gui::font(Text::secondary_strong));
  painter.setPen(theme()[Role::text]);
  const auto& phases = memory_->phases(plot_.clock);
  const auto at = std::find_if(phases.begin(), phases.end(), [&](const PhaseSpan& span) {
    return span.end > axis_->start_ns() && span.step > 0;
  });
  const QString title = plot_.clock == MemoryClock::event_order ? tr("Events")
                        : at == phases.end()                    ? QString()
                                                                : tr("Step %1").arg(at->step);
  painter.drawText(QRectF(16, 0, kGutter - 16, kRuler), Qt::AlignVCenter, title);
  painter.setFont(gui::font(Text::tick));
  painter.setPen(theme()[Role::text3]);
  for (const Tick& tick : ticks()) {
    const double x = std::floor(kGutter + tick.pixel) + 4;
    const QRectF box(x, 0, figure_width(painter.font(), tick.text), kRuler - 2);
    const bool is_hidden = box.right() > pill.left() - 4 && box.left() < pill.right() + 4;
    if (!is_hidden) draw_figure(painter, box, Qt::AlignLeft, tick.text);
  }
}

void MemoryCanvas::draw_phases(QPainter& painter) const {
  painter.setFont(gui::font(Text::secondary));
  const QFontMetricsF metrics(painter.font());
  double drawn_to = kGutter;  // a phase narrower than a pixel is drawn with its first pixel
  for (const PhaseSpan& span : memory_->phases(plot_.clock)) {
    const double left = std::max<double>(kGutter + axis_->pixel_of(span.start), drawn_to);
    const double right = std::min<double>(
        std::max(kGutter + axis_->pixel_of(span.end), left + (left > drawn_to ? 1 : 0)), width());
    if (right - left < 0.5) continue;
    drawn_to = right;
    const QColor colour = theme()[role_of_phase(span.phase)];
    const QRectF box(std::round(left), kRuler, std::round(right) - std::round(left), kPhases);
    painter.fillRect(box, theme().towards_canvas(colour, 0.7));
    painter.fillRect(QRectF(box.left(), box.bottom() - 2, box.width(), 2), colour);
    const QString name = QString::fromStdString(span.phase);
    if (metrics.horizontalAdvance(name) + 16 > box.width()) continue;
    painter.setPen(theme()[Role::text]);
    painter.drawText(box.adjusted(8, 0, 0, -1), Qt::AlignVCenter, name);
  }
}

// Figures at the left, with a hairline each.
void MemoryCanvas::draw_scale(QPainter& painter) const {
  const QRectF area = plot_area();
  painter.setFont(gui::font(Text::tick));
  for (const std::int64_t bytes :
       byte_ticks(plot_.bytes_at_top(), static_cast<int>(area.height() / 34))) {
    const double y = std::round(plot_.y_of(bytes, area)) + 0.5;
    painter.setPen(theme()[Role::grid]);
    draw_line(painter, area.left(), y, area.right(), y);
    const bool is_near_capacity =
        plot_.capacity && std::abs(plot_.y_of(*plot_.capacity, area) - y) < 12;
    if (bytes == 0 || is_near_capacity) continue;
    painter.setPen(theme()[Role::text3]);
    draw_figure(painter, QRectF(0, y - 8, kGutter - 10, 16), Qt::AlignRight,
                round_bytes_text(bytes));
  }
}

// Above the right end of the line, unless the capacity's is there.
QRectF MemoryCanvas::reserved_label() const {
  const QRectF area = plot_area();
  const auto edge = axis_->ns_at(area.width() - 100);
  const MemoryColumns shown =
      plot_.curve->columns(plot_.clock, std::vector{edge, axis_->ns_at(area.width())});
  const double y = plot_.y_of(shown.reserved[0], area);
  const bool is_near_capacity = plot_.capacity && y - plot_.y_of(*plot_.capacity, area) < 34;
  if (shown.reserved[0] <= 0 || is_near_capacity || y - area.top() < 18) return {};
  return {area.right() - 100, y - 19, 92, 16};
}

void MemoryCanvas::draw_reserved_label(QPainter& painter) const {
  const QRectF box = reserved_label();
  if (box.isEmpty()) return;
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text]);
  painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter, tr("reserved"));
}

void MemoryCanvas::draw_capacity(QPainter& painter) const {
  if (!plot_.capacity) return;
  const QRectF area = plot_area();
  plot_.paint_capacity_line(painter, area);
  const double y = std::round(plot_.y_of(*plot_.capacity, area)) + 0.5;
  painter.setFont(gui::font(Text::tick));
  painter.setPen(theme()[Role::error]);
  draw_figure(painter, QRectF(0, y - 8, kGutter - 10, 16), Qt::AlignRight,
              bytes_figure(*plot_.capacity).text());
  const double label_top = y - 17 < area.top() ? y + 2 : y - 17;
  painter.drawText(QRectF(area.right() - 160, label_top, 152, 16),
                   Qt::AlignRight | Qt::AlignVCenter, tr("device capacity"));
  const std::int64_t spare = *plot_.capacity - plot_.curve->peak_reserved();
  const double bottom = std::round(plot_.y_of(plot_.curve->peak_reserved(), area)) - 1.5;
  if (spare <= 0 || bottom - y < 16) return;
  const double x = std::round(area.left() + area.width() * 0.44) + 0.5;
  painter.setPen(theme()[Role::text2]);
  draw_line(painter, x, y + 3, x, bottom);
  draw_line(painter, x - 4, y + 3, x + 4, y + 3);
  draw_line(painter, x - 4, bottom, x + 4, bottom);
  painter.setFont(gui::font(Text::secondary));
  draw_figure(painter, QRectF(x + 10, (y + bottom) / 2 - 9, 240, 18), Qt::AlignLeft,
              tr("%1 to spare").arg(bytes_figure(spare).text()));
}

void MemoryCanvas::draw_range(QPainter& painter) const {
  if (!selection_.range() || plot_.clock == MemoryClock::event_order) return;
  const double left = kGutter + axis_->pixel_of(selection_.range()->start_ns);
  const double right = kGutter + axis_->pixel_of(selection_.range()->end_ns);
  const QRectF box = QRectF(QPointF(left, 0), QPointF(right, height())) &
                     QRectF(kGutter, 0, width() - kGutter, height());
  QColor fill = theme()[Role::focus];
  fill.setAlphaF(0.1F);
  painter.fillRect(box, fill);
  painter.setPen(theme()[Role::focus]);
  for (const double x : {left, right}) {
    if (x >= kGutter && x <= width()) draw_line(painter, x, 0, x, height());
  }
}

void MemoryCanvas::draw_peak(QPainter& painter) const {
  const std::size_t peak = memory_->peak_near(step_);
  const double x = x_of(peak);
  if (x < kGutter - 1 || x > width()) return;
  const QRectF area = plot_area();
  const double y = plot_.y_of(plot_.curve->allocated(peak), area);
  painter.setFont(gui::font(Text::secondary_strong));
  const QString text = tr("Peak  %1").arg(bytes_figure(plot_.curve->allocated(peak)).text());
  const double half = figure_width(painter.font(), text) / 2 + 8;
  const bool fits_left = x - 2 * half - 14 > kGutter;
  // Below the point where a request that failed or the label of what is reserved stands above it.
  const auto failure = plot_.curve->failure();
  const QRectF above(x - 2 * half - 12, y - 28, 4 * half + 24, 28);
  const bool is_below =
      (failure && std::abs(x_of(*failure) - x) < 4 * half) || above.intersects(reserved_label());
  const double top = is_below ? y + 8 : std::max(y - 24, area.top() + 2);
  draw_pill(painter, fits_left ? x - half - 12 : x + half + 12, top, text, theme()[Role::ink],
            theme()[Role::canvas], kGutter, width());
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme()[Role::ink], 2));
  painter.setBrush(theme()[Role::canvas]);
  painter.drawEllipse(QPointF(x, y), 4, 4);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

// What could not be had, on top of what is allocated.
void MemoryCanvas::draw_failure(QPainter& painter) const {
  const auto failure = plot_.curve->failure();
  if (!failure) return;
  const double x = std::clamp<double>(x_of(*failure), kGutter, width() - 2);
  if (std::abs(x - x_of(*failure)) > 3) return;
  const auto& event = memory_->states().events()[plot_.curve->events(*failure) - 1];
  const QRectF area = plot_area();
  const std::int64_t allocated = plot_.curve->allocated(*failure);
  const double bottom = plot_.y_of(allocated, area);
  const double top = std::max(plot_.y_of(allocated + event.bytes, area), area.top() + 4);
  painter.setPen(QPen(theme()[Role::error], 2));
  draw_line(painter, x, bottom, x, top);
  draw_pill(painter, x - 70, std::max(top - 8, area.top() + 2),
            tr("asks %1").arg(bytes_figure(event.bytes).text()), theme()[Role::error],
            theme().text_on(theme()[Role::error]), kGutter, width());
}

// From its allocation to its end along the bottom; hatched while it waits for other streams.
void MemoryCanvas::draw_life(QPainter& painter) const {
  if (!life_) return;
  constexpr double kBar = 6;
  const QColor colour = theme()[Role::selection];
  const auto x_at = [&](traces::MemoryEventPointer event) {
    return event == nullptr ? width() + 1.0 : x_of(memory_->sample_of(event));
  };
  const double from = x_at(life_->allocation), to = x_at(life_->freed);
  const double gone = std::max(life_->completed == nullptr ? to : x_at(life_->completed), to);
  const QRectF area = plot_area();
  const auto bar = [&](double left, double right) {
    return QRectF(QPointF(left, area.bottom() - kBar), QPointF(right, area.bottom())) & area;
  };
  painter.fillRect(bar(from, std::max(to, from + 2)), colour);
  painter.fillRect(bar(to, gone), hatch(colour));
  painter.setPen(colour);
  for (const double x : {from, to}) {
    if (x >= kGutter && x <= width()) draw_line(painter, x, area.top(), x, area.bottom());
  }
}

void MemoryCanvas::draw_since(QPainter& painter) const {
  if (!since_) return;
  const double x = std::floor(x_of(*since_)) + 0.5;
  if (x < kGutter || x > width()) return;
  painter.setPen(QPen(theme()[Role::text], 1, Qt::DashLine));
  draw_line(painter, x, kRuler, x, height());
  draw_pill(painter, x, kRuler, tr("since %1").arg(time_text(*since_)), theme()[Role::panel],
            theme()[Role::text], kGutter, width());
}

QRectF MemoryCanvas::draw_cursor(QPainter& painter) const {
  if (!sample_) return {};
  const double x = std::floor(x_of(*sample_)) + 0.5;
  if (x < kGutter - 1 || x > width() + 2) return {};
  painter.setPen(theme()[Role::text]);
  draw_line(painter, std::min(x, width() - 0.5), kRuler - 2, std::min(x, width() - 0.5), height());
  return draw_pill(painter, x, 2, time_text(*sample_), theme()[Role::ink], theme()[Role::canvas],
                   kGutter, width());
}

}  // namespace foreshard::gui
