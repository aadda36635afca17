#include "gui/views/inspector/search_field.hpp"

#include <QKeyEvent>
#include <QPainter>

#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/inspector/search.hpp"

namespace foreshard::gui {
namespace {

constexpr int kMagnifierRoom = 20;
constexpr double kLensRadius = 4;

}  // namespace

SearchField::SearchField(Search& search, QWidget* parent) : QLineEdit(parent), search_(search) {
  setPlaceholderText(tr("Search events, units, keys"));
  setAccessibleName(tr("Search"));
  setToolTip(tr(
      "Words match name, unit and key. Filters: unit: phase: rank: lane: dur> dur< bytes> bytes<"));
  setTextMargins(kMagnifierRoom, 0, kMagnifierRoom, 0);
  connect(this, &QLineEdit::textChanged, &search, &Search::set_text);
  connect(&search, &Search::text_changed, this, [this] {
    if (text() != search_.text()) setText(search_.text());
  });
}

QSize SearchField::sizeHint() const {
  return {scaled(220), scaled(26)};
}

void SearchField::paintEvent(QPaintEvent* event) {
  QLineEdit::paintEvent(event);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme()[Role::text2], 1.4));
  painter.setBrush(Qt::NoBrush);
  const QPointF lens(14, height() / 2.0 - 1);
  painter.drawEllipse(lens, kLensRadius, kLensRadius);
  painter.drawLine(lens + QPointF(3, 3), lens + QPointF(6, 6));
  const QString key = QStringLiteral("/");
  if (!hasFocus() && text().isEmpty()) {
    draw_key_cap(painter, width() - key_cap_width(key) - 6, height() / 2.0, key);
  }
}

void SearchField::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (event->modifiers() & Qt::ShiftModifier) {
        search_.previous();
      } else {
        search_.next();
      }
      return;
    case Qt::Key_Escape:
      clear();
      Q_EMIT left();
      return;
    default: QLineEdit::keyPressEvent(event);
  }
}

}  // namespace foreshard::gui
