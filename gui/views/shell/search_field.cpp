#include "gui/views/shell/search_field.hpp"

#include <QKeyEvent>
#include <QPainter>

#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {

SearchField::SearchField(QWidget* parent) : QLineEdit(parent) {
  setPlaceholderText(tr("Search events, units, keys"));
  setAccessibleName(tr("Search"));
  setTextMargins(20, 0, 22, 0);
  setClearButtonEnabled(false);
}

void SearchField::paintEvent(QPaintEvent* event) {
  QLineEdit::paintEvent(event);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme()[Role::text3], 1.4));
  const QPointF lens(14, height() / 2.0 - 1);
  painter.drawEllipse(lens, 4, 4);
  painter.drawLine(lens + QPointF(3, 3), lens + QPointF(6, 6));
  if (hasFocus() || !text().isEmpty()) return;
  const QString key = QStringLiteral("/");
  draw_key_cap(painter, width() - key_cap_width(key) - 7, height() / 2.0, key);
}

void SearchField::keyPressEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Escape) return QLineEdit::keyPressEvent(event);
  clear();
  Q_EMIT left();
}

}  // namespace foreshard::gui
