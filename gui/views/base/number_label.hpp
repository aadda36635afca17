// A figure and its unit, such as `849.3 ms`, with a note behind. Digits have equal widths, and the
// place that the figure takes never shrinks: what stands beside it stays where it is.
#pragma once

#include <QString>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/base/units_text.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class NumberLabel : public PaintedWidget {
  Q_OBJECT
 public:
  explicit NumberLabel(Text size = Text::key_figure, QWidget* parent = nullptr);

  void set_figure(const Figure& figure, const QString& note = {}, Role note_role = Role::text2);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Text size_;
  Figure figure_;
  QString note_;
  Role note_role_ = Role::text2;
  mutable double widest_ = 0;  // that it has been at this size of text
  mutable double widest_scale_ = 0;
};

// Draws figure, unit and note on one base line from `left`; returns where it ends.
double draw_number(QPainter& painter, QPointF baseline_left, Text size, const Figure& figure,
                   const QString& note, Role note_role, Role role = Role::text);
double number_width(Text size, const Figure& figure, const QString& note);

}  // namespace foreshard::gui
