// The present settings and the pins beside each other. Delete drops a pin. Names have their room
// first; where it is narrow the bar of what is reserved is shorter, or gone, and then the last columns.
#pragma once

#include <vector>

#include "gui/views/base/painted_widget.hpp"
#include "gui/views/what_if/variant.hpp"

namespace foreshard::gui {

class VariantsTable : public PaintedWidget {
  Q_OBJECT
 public:
  explicit VariantsTable(QWidget* parent = nullptr);

  void set_variants(std::vector<Variant> variants);
  QString as_text() const;            // a line a variant, columns separated by tabs
  QString shown_name(int row) const;  // as much of it as there is room for
  double bar_width() const;           // 0: there is no room for one

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {420, sizeHint().height()}; }

 Q_SIGNALS:
  void dropped(std::size_t pin);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  int row_at(QPointF point) const;
  void drop(int row);
  void paint_row(QPainter& painter, int row) const;
  void paint_bar(QPainter& painter, const Outcome& outcome, const QRectF& bar) const;
  double columns_right() const;
  double widest_name() const;
  std::size_t columns() const;  // that there is room for beside names
  double columns_width() const;
  QStringList cells(const Variant& variant) const;  // tokens/s, step, MFU, allocated

  std::vector<Variant> variants_;
  int hovered_ = -1, current_ = 0;
};

}  // namespace foreshard::gui
