#include "gui/views/shell/inspector_overlay.hpp"

#include <QHBoxLayout>
#include <QKeyEvent>

#include "gui/paint/theme.hpp"

namespace foreshard::gui {

InspectorOverlay::InspectorOverlay(QWidget* view)
    : PaintedWidget(view->parentWidget()), view_(view) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(1, 0, 0, 0);
  view_->installEventFilter(this);
  setAccessibleName(tr("Inspector"));
  hide();
}

void InspectorOverlay::hold(QWidget* inspector) {
  layout()->addWidget(inspector);
  inspector->show();
}

void InspectorOverlay::place() {
  const QRect view = view_->geometry();
  const int wide = sizeHint().width();
  setGeometry(view.right() + 1 - wide, view.top(), wide, view.height());
}

void InspectorOverlay::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::panel]);
  painter.fillRect(QRect(0, 0, 1, height()), theme()[Role::strong_line]);
}

void InspectorOverlay::showEvent(QShowEvent*) {
  place();
  raise();
}

void InspectorOverlay::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) return void(Q_EMIT left());
  PaintedWidget::keyPressEvent(event);
}

bool InspectorOverlay::eventFilter(QObject* watched, QEvent* event) {
  const bool moves = event->type() == QEvent::Resize || event->type() == QEvent::Move;
  if (watched == view_ && moves && isVisible()) place();
  return PaintedWidget::eventFilter(watched, event);
}

}  // namespace foreshard::gui
