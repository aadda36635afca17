#include "gui/views/base/paragraph.hpp"

#include <QPainter>
#include <QRegularExpression>

#include "gui/paint/fonts.hpp"
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

}  // namespace foreshard::gui
