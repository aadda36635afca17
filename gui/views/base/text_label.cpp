#include "gui/views/base/text_label.hpp"

#include <cmath>

#include "gui/paint/figures.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {

TextLabel::TextLabel(Text size, Role role, QWidget* parent)
    : PaintedWidget(parent), size_(size), role_(role) {}

void TextLabel::set_text(const QString& text) {
  if (text == text_) return;
  text_ = text;
  setAccessibleName(text);
  updateGeometry();
  update();
}

void TextLabel::set_role(Role role) {
  if (role == role_) return;
  role_ = role;
  update();
}

void TextLabel::set_alignment(Qt::Alignment alignment) {
  alignment_ = alignment;
  update();
}

QSize TextLabel::sizeHint() const {
  const QFont shown = gui::font(size_);
  return {static_cast<int>(std::ceil(figure_width(shown, text_))) + 1,
          static_cast<int>(std::ceil(QFontMetricsF(shown).height()))};
}

QSize TextLabel::minimumSizeHint() const {
  return {0, sizeHint().height()};
}

void TextLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setFont(gui::font(size_));
  painter.setPen(theme()[isEnabled() ? role_ : Role::text3]);
  const QString shown = elided_figure(painter.font(), text_, width());
  setToolTip(shown == text_ ? QString() : text_);
  draw_figure(painter, rect(), alignment_, shown);
}

}  // namespace foreshard::gui
