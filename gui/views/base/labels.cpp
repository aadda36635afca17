#include "gui/views/base/labels.hpp"

#include <QPainter>
#include <QRegularExpression>
#include <QScrollArea>
#include <cmath>

#include "gui/paint/figures.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

// With places to break within names of kernels, which are longer than a line.
QString breakable(const QString& text) {
  static const QRegularExpression ends(QStringLiteral("([_:<,(])(?=[^\\s])"));
  constexpr QChar kBreak(0x200B);  // of no width
  return QString(text).replace(ends, QStringLiteral("\\1") + kBreak).toHtmlEscaped();
}

}  // namespace

TextLabel::TextLabel(Text size, Role role, QWidget* parent)
    : PaintedWidget(parent), size_(size), role_(role) {}

TextLabel::TextLabel(Text size, Role role, const QString& text, QWidget* parent)
    : TextLabel(size, role, parent) {
  set_text(text);
}

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

Paragraph::Paragraph(Frame frame, Role role, QWidget* parent)
    : QLabel(parent), frame_(frame), role_(role) {
  setWordWrap(true);
  setTextFormat(Qt::RichText);
  setTextInteractionFlags(Qt::TextSelectableByMouse);
  if (frame == Frame::box) setContentsMargins(10, 8, 10, 8);
  connect(&Appearance::instance(), &Appearance::changed, this, &Paragraph::follow_theme);
  follow_theme();
}

void Paragraph::set_sentence(const QString& lead, const QString& text) {
  setText(lead.isEmpty()
              ? breakable(text)
              : QStringLiteral("<b>%1</b> %2").arg(lead.toHtmlEscaped(), breakable(text)));
  setAccessibleName(lead.isEmpty() ? text : lead + QLatin1Char(' ') + text);
}

void Paragraph::follow_theme() {
  setFont(gui::font(Text::body));
  // A palette of its own would be lost when the application's style sheet changes with the theme.
  setStyleSheet(QStringLiteral("color: %1").arg(theme()[role_].name()));
}

void Paragraph::paintEvent(QPaintEvent* event) {
  if (frame_ == Frame::box) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme()[Role::line], 1));
    painter.setBrush(theme()[Role::raised]);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
  }
  QLabel::paintEvent(event);
}

QScrollArea* scrolled(QWidget* content) {
  auto* const area = new QScrollArea;
  area->setWidget(content);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->viewport()->setAutoFillBackground(false);
  content->setAutoFillBackground(false);
  return area;
}

}  // namespace foreshard::gui
