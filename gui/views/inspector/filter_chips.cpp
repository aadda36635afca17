#include "gui/views/inspector/filter_chips.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kChipGap = 6;
constexpr double kChipPadding = 8;
constexpr double kCrossRoom = 16;
constexpr double kCrossArm = 3;

}  // namespace

FilterChips::FilterChips(QWidget* parent) : PaintedWidget(parent) {
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  setAccessibleName(tr("Filters"));
}

void FilterChips::set_filters(QStringList filters) {
  filters_ = std::move(filters);
  current_ = std::clamp(current_, 0, std::max(0, static_cast<int>(filters_.size()) - 1));
  setFocusPolicy(filters_.isEmpty() ? Qt::NoFocus : Qt::StrongFocus);
  setAccessibleDescription(filters_.join(QStringLiteral(", ")));
  updateGeometry();
  update();
}

double FilterChips::chip_width(const QString& filter) const {
  return std::ceil(figure_width(gui::font(Text::secondary), filter)) + 2 * kChipPadding +
         kCrossRoom;
}

QRectF FilterChips::chip(int n) const {
  double left = 0;
  for (int before = 0; before < n; ++before) left += chip_width(filters_[before]) + kChipGap;
  return {left, 0, chip_width(filters_[n]), static_cast<double>(height())};
}

QSize FilterChips::sizeHint() const {
  double width = 0;
  for (const QString& filter : filters_) width += chip_width(filter) + kChipGap;
  return {static_cast<int>(width), scaled(22)};
}

void FilterChips::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  for (int n = 0; n < filters_.size(); ++n) {
    const QRectF box = chip(n);
    painter.setPen(QPen(theme()[Role::strong_line], 1));
    painter.setBrush(theme()[Role::raised]);
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    painter.setFont(gui::font(Text::secondary));
    painter.setPen(theme()[Role::text]);
    draw_figure(painter, box.adjusted(kChipPadding, 0, 0, 0), Qt::AlignLeft, filters_[n]);
    const QPointF centre(box.right() - kChipPadding - kCrossArm, box.center().y());
    painter.setPen(QPen(theme()[Role::text3], 1.4));
    painter.drawLine(centre + QPointF(-kCrossArm, -kCrossArm),
                     centre + QPointF(kCrossArm, kCrossArm));
    painter.drawLine(centre + QPointF(-kCrossArm, kCrossArm),
                     centre + QPointF(kCrossArm, -kCrossArm));
    if (n == current_) draw_focus(painter, box);
  }
}

void FilterChips::mousePressEvent(QMouseEvent* event) {
  for (int n = 0; n < filters_.size(); ++n) {
    if (!chip(n).contains(event->position())) continue;
    Q_EMIT dropped(n);
    return;
  }
}

void FilterChips::keyPressEvent(QKeyEvent* event) {
  const int last = static_cast<int>(filters_.size()) - 1;
  switch (event->key()) {
    case Qt::Key_Left: current_ = std::max(0, current_ - 1); break;
    case Qt::Key_Right: current_ = std::min(last, current_ + 1); break;
    case Qt::Key_Delete:
    case Qt::Key_Backspace:
      if (current_ <= last) Q_EMIT dropped(current_);
      return;
    default: return PaintedWidget::keyPressEvent(event);
  }
  update();
}

}  // namespace foreshard::gui
