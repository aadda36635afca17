#include "gui/views/shell/status_bar.hpp"

#include <QPainter>
#include <algorithm>
#include <utility>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {

StatusBar::StatusBar(QWidget* parent) : QStatusBar(parent) {
  setSizeGripEnabled(false);
  setAccessibleName(tr("Status"));
}

void StatusBar::set_statements(std::vector<Statement> statements) {
  statements_ = std::move(statements);
  QStringList texts;
  for (const Statement& statement : statements_) texts.append(statement.text);
  setAccessibleDescription(texts.join(QStringLiteral("; ")));
  update();
}

void StatusBar::set_view_status(const QString& text) {
  view_status_ = text;
  update();
}

QSize StatusBar::sizeHint() const {
  return {800, scaled(24)};
}
QSize StatusBar::minimumSizeHint() const {
  return {0, scaled(24)};
}

void StatusBar::paintEvent(QPaintEvent*) {
  constexpr double kPadding = 16, kMark = 18, kApart = 22;
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::panel]);
  painter.fillRect(QRect(0, 0, width(), 1), theme()[Role::line]);
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  const double right_width = figure_width(painter.font(), view_status_);
  const double right = std::max(kPadding, width() - kPadding - right_width);
  draw_figure(painter, QRectF(right, 0, right_width + 1, height()), Qt::AlignLeft, view_status_);
  double left = kPadding;
  for (const Statement& statement : statements_) {
    const double room = right - kApart - left - kMark;
    if (room < 20) break;
    draw_state(painter, {left + 4, height() / 2.0}, statement.state);
    const QString text = elided_figure(painter.font(), statement.text, room);
    draw_figure(painter, QRectF(left + kMark, 0, room, height()), Qt::AlignLeft, text);
    left += kMark + figure_width(painter.font(), text) + kApart;
  }
}

}  // namespace foreshard::gui
