#include "gui/views/what_if/notched_slider.hpp"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kHandle = 7, kTrackY = 14, kTrackHeight = 4;

}  // namespace

NotchedSlider::NotchedSlider(QWidget* parent) : PaintedWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setMinimumHeight(sizeHint().height());
}

void NotchedSlider::set_notches(QStringList notches, int current) {
  if (notches == notches_ && current == current_) return;
  if (notches != notches_) misfits_.clear();
  notches_ = std::move(notches);
  current_ = current;
  update();
}

void NotchedSlider::set_misfits(std::vector<QString> reasons) {
  if (reasons == misfits_) return;
  misfits_ = std::move(reasons);
  update();
}

QPointF NotchedSlider::notch_centre(int notch) const {
  const double left = kHandle + 3, right = width() - kHandle - 3;
  const auto last = std::max<qsizetype>(1, notches_.size() - 1);
  return {left + (right - left) * notch / static_cast<double>(last), kTrackY};
}

bool NotchedSlider::is_misfit(int notch) const {
  const auto n = static_cast<std::size_t>(notch);
  return n < misfits_.size() && !misfits_[n].isNull();
}

int NotchedSlider::notch_at(QPointF point) const {
  const double step = notch_centre(1).x() - notch_centre(0).x();
  const int notch = static_cast<int>(std::lround((point.x() - notch_centre(0).x()) / step));
  return std::clamp(notch, 0, static_cast<int>(notches_.size()) - 1);
}

void NotchedSlider::move_to(int notch) {
  notch = std::clamp(notch, 0, static_cast<int>(notches_.size()) - 1);
  if (notch == current_) return;
  current_ = notch;
  update();
  Q_EMIT moved(notch);
}

void NotchedSlider::paint_track(QPainter& painter) const {
  const Theme& t = theme();
  const double left = notch_centre(0).x(), handle = notch_centre(current_).x();
  const double right = notch_centre(static_cast<int>(notches_.size()) - 1).x();
  const auto stretch = [&](double from, double to, const QBrush& brush) {
    painter.fillRect(QRectF(from, kTrackY - kTrackHeight / 2, to - from, kTrackHeight), brush);
  };
  stretch(left, right, t[Role::strong_line]);
  const double half = (notch_centre(1).x() - left) / 2;
  for (int n = 0; n < notches_.size(); ++n) {
    if (!is_misfit(n)) continue;
    const double at = notch_centre(n).x();
    const double from = std::max(left, at - half), to = std::min(right, at + half);
    stretch(from, to, t.towards_canvas(t[Role::error], 0.7));
    stretch(from, to, hatch(t[Role::error], Hatch::diagonal, 4));
  }
  stretch(left, handle, t[Role::ink]);
  painter.setPen(Qt::NoPen);
  for (int n = 0; n < notches_.size(); ++n) {
    painter.setBrush(n <= current_ ? t[Role::ink] : is_misfit(n) ? t[Role::error] : t[Role::text3]);
    painter.drawEllipse(notch_centre(n), 2, 2);
  }
  painter.setBrush(t[Role::raised]);
  painter.setPen(QPen(is_misfit(current_) ? t[Role::error] : t[Role::ink], 2));
  painter.drawEllipse(notch_centre(current_), kHandle, kHandle);
  if (!hasFocus()) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(t[Role::focus], 2));
  painter.drawEllipse(notch_centre(current_), kHandle + 3, kHandle + 3);
}

void NotchedSlider::paint_labels(QPainter& painter) const {
  for (int n = 0; n < notches_.size(); ++n) {
    painter.setFont(gui::font(n == current_ ? Text::secondary_strong : Text::tick));
    painter.setPen(theme()[is_misfit(n) ? Role::error : n == current_ ? Role::text : Role::text3]);
    const double wide = figure_width(painter.font(), notches_[n]) + 2;
    const double left =
        std::clamp(notch_centre(n).x() - wide / 2, 0.0, std::max(0.0, width() - wide));
    draw_figure(painter, QRectF(left, 25, wide, 16), Qt::AlignCenter, notches_[n]);
  }
}

void NotchedSlider::paintEvent(QPaintEvent*) {
  if (notches_.isEmpty()) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (!isEnabled()) painter.setOpacity(0.45);
  paint_track(painter);
  paint_labels(painter);
}

void NotchedSlider::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  Q_EMIT drag_began();
  move_to(notch_at(event->position()));
}

void NotchedSlider::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons().testFlag(Qt::LeftButton)) move_to(notch_at(event->position()));
}

void NotchedSlider::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) Q_EMIT drag_ended();
}

void NotchedSlider::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Down: return move_to(current_ - 1);
    case Qt::Key_Right:
    case Qt::Key_Up: return move_to(current_ + 1);
    case Qt::Key_Home: return move_to(0);
    case Qt::Key_End: return move_to(static_cast<int>(notches_.size()) - 1);
    default: PaintedWidget::keyPressEvent(event);
  }
}

bool NotchedSlider::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && !notches_.isEmpty()) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int notch = notch_at(help->pos());
    if (is_misfit(notch)) {
      QToolTip::showText(help->globalPos(), misfits_[static_cast<std::size_t>(notch)], this);
      return true;
    }
  }
  return PaintedWidget::event(event);
}

}  // namespace foreshard::gui
