// What every key moved by one notch would bring, best first. Enter, or a click on Apply, makes the
// change.
#pragma once

#include <memory>

#include "gui/models/what_if/surroundings.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class NeighboursTable : public PaintedWidget {
  Q_OBJECT
 public:
  explicit NeighboursTable(QWidget* parent = nullptr);

  // Null: not known yet, for the present settings.
  void set_surroundings(std::shared_ptr<const Surroundings> surroundings);
  QPointF apply_centre(int row) const;
  int rows() const;  // that there is room for

 Q_SIGNALS:
  void applied(const Changes& changes);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  int row_at(QPointF point) const;
  void apply(int row);
  double note_width() const;
  void paint_row(QPainter& painter, int row) const;

  std::shared_ptr<const Surroundings> surroundings_;  // the last that was known
  bool is_stale_ = true;
  int hovered_ = -1, current_ = 0;
};

}  // namespace foreshard::gui
