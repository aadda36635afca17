#include "gui/views/inspector/overlay.hpp"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kWindowMargin = 48;
constexpr int kOverlayPadding = 16;
constexpr int kDimming = 90;  // alpha of the veil over the window

}  // namespace

Overlay::Overlay(QWidget* window, QSize panel)
    : PaintedWidget(window), largest_(panel), content_(new QVBoxLayout(this)) {
  content_->setSpacing(12);
  window->installEventFilter(this);
  hide();
}

void Overlay::open(QWidget* focus) {
  if (!isVisible()) focus_before_ = QApplication::focusWidget();
  setGeometry(parentWidget()->rect());
  raise();
  show();
  focus->setFocus(Qt::PopupFocusReason);
}

void Overlay::close_overlay() {
  hide();
  if (focus_before_ != nullptr) focus_before_->setFocus(Qt::PopupFocusReason);
}

QRect Overlay::panel() const {
  const QSize size(std::min(scaled(largest_.width()), width() - 2 * kWindowMargin),
                   std::min(scaled(largest_.height()), height() - 2 * kWindowMargin));
  const int top = std::max(kWindowMargin, (height() - size.height()) / 3);
  return {QPoint((width() - size.width()) / 2, top), size};
}

bool Overlay::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize) {
    setGeometry(parentWidget()->rect());
  }
  return PaintedWidget::eventFilter(watched, event);
}

void Overlay::resizeEvent(QResizeEvent*) {
  const QRect box = panel();
  content_->setContentsMargins(box.left() + kOverlayPadding, box.top() + kOverlayPadding,
                               width() - box.right() - 1 + kOverlayPadding,
                               height() - box.bottom() - 1 + kOverlayPadding);
  content_->activate();
}

void Overlay::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), QColor(0, 0, 0, kDimming));
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme()[Role::strong_line], 1));
  painter.setBrush(theme()[Role::raised]);
  painter.drawRoundedRect(QRectF(panel()).adjusted(0.5, 0.5, -0.5, -0.5), 7, 7);
}

void Overlay::mousePressEvent(QMouseEvent* event) {
  if (!panel().contains(event->position().toPoint())) close_overlay();
}

bool Overlay::event(QEvent* event) {
  // Esc is the overlay's own while it is open, whatever it does in the window below.
  if (event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress) {
    if (static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
      event->accept();
      if (event->type() == QEvent::KeyPress) close_overlay();
      return true;
    }
  }
  return PaintedWidget::event(event);
}

}  // namespace foreshard::gui
