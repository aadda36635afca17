#include "gui/views/base/number_label.hpp"

#include <algorithm>
#include <cmath>

#include "gui/paint/figures.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kUnitGap = 4;
constexpr double kNoteGap = 8;

Text unit_size(Text size) {
  return size == Text::key_figure ? Text::title : Text::value;
}

}  // namespace

double number_width(Text size, const Figure& figure, const QString& note) {
  double width = figure_width(gui::font(size), figure.number);
  if (!figure.unit.isEmpty())
    width += kUnitGap + figure_width(gui::font(unit_size(size)), figure.unit);
  if (!note.isEmpty()) width += kNoteGap + figure_width(gui::font(Text::secondary), note);
  return width;
}

double draw_number(QPainter& painter, QPointF baseline_left, Text size, const Figure& figure,
                   const QString& note, Role note_role, Role role) {
  double x = baseline_left.x();
  const auto draw = [&](Text text_size, const QString& text, Role text_role) {
    painter.setFont(gui::font(text_size));
    painter.setPen(theme()[text_role]);
    draw_figure_at(painter, {x, baseline_left.y()}, text);
    x += figure_width(painter.font(), text);
  };
  draw(size, figure.number, role);
  if (!figure.unit.isEmpty()) {
    x += kUnitGap;
    draw(unit_size(size), figure.unit, role);
  }
  if (!note.isEmpty()) {
    x += kNoteGap;
    draw(Text::secondary, note, note_role);
  }
  return x;
}

NumberLabel::NumberLabel(Text size, QWidget* parent) : PaintedWidget(parent), size_(size) {}

void NumberLabel::set_figure(const Figure& figure, const QString& note, Role note_role) {
  figure_ = figure;
  note_ = note;
  note_role_ = note_role;
  setAccessibleName(note.isEmpty() ? figure.text() : figure.text() + QLatin1Char(' ') + note);
  updateGeometry();
  update();
}

QSize NumberLabel::sizeHint() const {
  const double scale = Appearance::instance().text_scale();
  if (scale != widest_scale_) widest_ = 0;
  widest_scale_ = scale;
  widest_ = std::max(widest_, number_width(size_, figure_, note_));
  return {static_cast<int>(std::ceil(widest_)) + 1,
          static_cast<int>(std::ceil(QFontMetricsF(gui::font(size_)).height()))};
}

void NumberLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const double baseline = (height() + QFontMetricsF(gui::font(size_)).capHeight()) / 2;
  draw_number(painter, {0, baseline}, size_, figure_, note_, note_role_,
              isEnabled() ? Role::text : Role::text3);
}

}  // namespace foreshard::gui
