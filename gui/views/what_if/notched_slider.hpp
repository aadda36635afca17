// A track with notches, such as those of the micro-batch. Where a notch's plan does not fit the
// track is hatched. Arrows, Home and End move it; so does dragging, from notch to notch.
#pragma once

#include <QStringList>
#include <vector>

#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class NotchedSlider : public PaintedWidget {
  Q_OBJECT
 public:
  explicit NotchedSlider(QWidget* parent = nullptr);

  void set_notches(QStringList notches, int current);  // tells nobody
  // Which notches do not fit, and why; null where it does, or nothing is known.
  void set_misfits(std::vector<QString> reasons);
  const QStringList& notches() const { return notches_; }
  int current() const { return current_; }
  QPointF notch_centre(int notch) const;

  QSize sizeHint() const override { return {236, 42}; }

 Q_SIGNALS:
  void moved(int notch);  // by mouse or key
  void drag_began();
  void drag_ended();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  int notch_at(QPointF point) const;
  bool is_misfit(int notch) const;
  void move_to(int notch);
  void paint_track(QPainter& painter) const;
  void paint_labels(QPainter& painter) const;

  QStringList notches_;
  std::vector<QString> misfits_;
  int current_ = 0;
};

}  // namespace foreshard::gui
