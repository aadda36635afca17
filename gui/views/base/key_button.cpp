#include "gui/views/base/key_button.hpp"

#include <QStyleOptionButton>
#include <QStylePainter>

#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kKeyGap = 10;

}  // namespace

KeyButton::KeyButton(const QString& text, const QString& key, QWidget* parent)
    : QPushButton(text, parent), key_(key) {
  setAccessibleDescription(key);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

QSize KeyButton::sizeHint() const {
  QSize size = QPushButton::sizeHint();
  if (!key_.isEmpty()) {
    size.rwidth() += kKeyGap + QFontMetrics(gui::font(Text::tick)).horizontalAdvance(key_);
  }
  return size;
}

void KeyButton::paintEvent(QPaintEvent*) {
  QStylePainter painter(this);
  QStyleOptionButton button;
  initStyleOption(&button);
  button.text.clear();
  painter.drawControl(QStyle::CE_PushButton, button);

  const QFont words = font(), small = gui::font(Text::tick);
  const double key_width = QFontMetricsF(small).horizontalAdvance(key_);
  const double words_width = QFontMetricsF(words).horizontalAdvance(text());
  const double all = words_width + (key_.isEmpty() ? 0 : kKeyGap + key_width);
  QRectF box((width() - all) / 2, 0, all + 1, height());
  painter.setFont(words);
  painter.setPen(theme()[isEnabled() ? Role::text : Role::text3]);
  painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, text());
  painter.setFont(small);
  painter.setPen(theme()[Role::text3]);
  painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter, key_);
}

}  // namespace foreshard::gui
