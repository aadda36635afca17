// The timeline for assistive technology: its lanes as rows, and the selected event as an item whose
// text is that of its card.
#pragma once

#include <map>

#include <QAccessibleWidget>

namespace foreshard::gui {

class TimelineCanvas;

class CanvasAccessible : public QAccessibleWidget {
 public:
  explicit CanvasAccessible(TimelineCanvas* canvas);
  ~CanvasAccessible() override;

  int childCount() const override;
  QAccessibleInterface* child(int index) const override;
  int indexOfChild(const QAccessibleInterface* child) const override;
  QAccessibleInterface* childAt(int x, int y) const override;

 private:
  TimelineCanvas& canvas() const;

  mutable std::map<int, QAccessible::Id> children_;
};

// Makes it known to Qt; once is enough.
void install_canvas_accessible();

}  // namespace foreshard::gui
