#include "gui/views/memory/reserved_plot.hpp"

#include <QPainter>
#include <algorithm>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"
#include "gui/paint/time_ticks.hpp"

namespace foreshard::gui {

ReservedPlot::ReservedPlot(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Reserved memory before and after the change"));
}

void ReservedPlot::show_steps(ReservedSteps before, ReservedSteps after, std::size_t events,
                              std::optional<std::int64_t> capacity) {
  before_ = std::move(before);
  after_ = std::move(after);
  events_ = events;
  capacity_ = capacity;
  update();
}

std::int64_t ReservedPlot::most() const {
  std::int64_t most = capacity_.value_or(1);
  for (const auto* steps : {&before_, &after_}) {
    for (const auto& [event, bytes] : *steps) most = std::max(most, bytes);
  }
  return most + most / 12;
}

// One pixel shows the most of the events that it stands for.
QPolygonF ReservedPlot::line_of(const ReservedSteps& steps, const QRectF& area) const {
  QPolygonF line;
  const double scale = area.width() / static_cast<double>(std::max<std::size_t>(events_, 1));
  const double height = area.height() / static_cast<double>(most());
  const auto y_of = [&](std::int64_t bytes) {
    return area.bottom() - height * static_cast<double>(bytes);
  };
  for (std::size_t n = 0; n < steps.size();) {
    const double x = std::floor(area.left() + scale * static_cast<double>(steps[n].first));
    std::int64_t highest = steps[n].second, last = highest;
    for (++n; n < steps.size(); ++n) {
      if (area.left() + scale * static_cast<double>(steps[n].first) >= x + 1) break;
      last = steps[n].second;
      highest = std::max(highest, last);
    }
    if (!line.isEmpty()) line << QPointF(x, line.back().y());
    line << QPointF(x, y_of(highest));
    if (last != highest) line << QPointF(x, y_of(last));
  }
  if (!line.isEmpty()) line << QPointF(area.right(), line.back().y());
  return line;
}

void ReservedPlot::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (before_.empty()) return;
  const QRectF area(64, 22, width() - 80, height() - 32);
  painter.setFont(gui::font(Text::tick));
  for (const std::int64_t bytes : byte_ticks(most(), static_cast<int>(area.height() / 40))) {
    const double y = std::round(area.bottom() - area.height() * static_cast<double>(bytes) /
                                                    static_cast<double>(most())) +
                     0.5;
    painter.setPen(theme()[Role::grid]);
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    painter.setPen(theme()[Role::text3]);
    draw_figure(painter, QRectF(0, y - 8, 56, 16), Qt::AlignRight, round_bytes_text(bytes));
  }
  if (capacity_) {
    QPen pen(theme()[Role::error], 1.2);
    pen.setDashPattern({5 / 1.2, 3 / 1.2});
    painter.setPen(pen);
    const double y = area.bottom() -
                     area.height() * static_cast<double>(*capacity_) / static_cast<double>(most());
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
  }
  painter.setPen(QPen(theme()[Role::text3], 1.6));
  painter.drawPolyline(line_of(before_, area));
  QPen changed(theme()[Role::text], 2);
  changed.setDashPattern({2, 1.25});
  painter.setPen(changed);
  painter.drawPolyline(line_of(after_, area));

  painter.setFont(gui::font(Text::secondary));
  double x = area.left();
  for (const bool is_after : {false, true}) {
    painter.setPen(is_after ? changed : QPen(theme()[Role::text3], 1.6));
    painter.drawLine(QPointF(x, 10), QPointF(x + 22, 10));
    painter.setPen(theme()[Role::text2]);
    const QString text = is_after ? tr("reserved, after the change") : tr("reserved, before");
    painter.drawText(QPointF(x + 28, 14), text);
    x += 28 + painter.fontMetrics().horizontalAdvance(text) + 20;
  }
}

}  // namespace foreshard::gui
