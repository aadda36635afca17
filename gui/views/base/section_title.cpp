#include "gui/views/base/section_title.hpp"

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kRoomAboveTitle = 8;

}  // namespace

SectionTitle::SectionTitle(const QString& title, const QString& note, QWidget* parent)
    : PaintedWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  set_title(title, note);
}

void SectionTitle::set_title(const QString& title, const QString& note) {
  title_ = title;
  note_ = note;
  setAccessibleName(note.isEmpty() ? title : title + QStringLiteral(", ") + note);
  update();
}

QSize SectionTitle::sizeHint() const {
  return {288, scaled(20) + kRoomAboveTitle};
}

void SectionTitle::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(QPen(theme()[Role::line], 0));
  painter.drawLine(0, 0, width(), 0);
  const QRectF box(0, kRoomAboveTitle, width(), height() - kRoomAboveTitle);
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  draw_figure(painter, box, Qt::AlignRight, note_);
  const double room = box.width() - figure_width(painter.font(), note_) - 8;
  painter.setFont(gui::font(Text::secondary_strong));
  draw_figure(painter, box, Qt::AlignLeft, elided_figure(painter.font(), title_, room));
}

}  // namespace foreshard::gui
