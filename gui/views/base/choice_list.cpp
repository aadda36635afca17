#include "gui/views/base/choice_list.hpp"

#include <QPainter>
#include <QStyledItemDelegate>
#include <QWheelEvent>

#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {

ChoiceList::ChoiceList(QWidget* parent) : QComboBox(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setItemDelegate(new QStyledItemDelegate(this));  // the usual one knows no style sheet
}

void ChoiceList::paintEvent(QPaintEvent* event) {
  QComboBox::paintEvent(event);
  QPainter painter(this);
  draw_triangle(painter, {width() - 13.0, height() / 2.0}, true,
                theme()[isEnabled() ? Role::text2 : Role::text3]);
}

void ChoiceList::wheelEvent(QWheelEvent* event) {
  if (hasFocus()) return QComboBox::wheelEvent(event);
  event->ignore();
}

}  // namespace foreshard::gui
