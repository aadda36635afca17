// A widget that paints itself in the theme in use: it is measured and painted again when the theme
// or the size of text changes, and shows a ring while the keyboard is on it.
#pragma once

#include <QPainter>
#include <QWidget>

namespace foreshard::gui {

class PaintedWidget : public QWidget {
  Q_OBJECT
 public:
  explicit PaintedWidget(QWidget* parent = nullptr);

 protected:
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void changeEvent(QEvent* event) override;

  // Pixels a logical one of an image that is drawn into `painter`: as the display has them, and in
  // pictures of vectors, which can be magnified, three.
  double picture_ratio(const QPainter& painter) const;

  // Around `box`, while the keyboard is on this widget.
  void draw_focus(QPainter& painter, const QRectF& box, double radius = 4) const;
};

}  // namespace foreshard::gui
