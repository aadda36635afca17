// The inspector over the right edge of a view, where the window has no room for it beside the view.
#pragma once

#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class InspectorOverlay : public PaintedWidget {
  Q_OBJECT
 public:
  // Lies over `view`, which is another child of the same parent, and follows its size.
  explicit InspectorOverlay(QWidget* view);

  void hold(QWidget* inspector);

 Q_SIGNALS:
  void left();  // by Esc

 protected:
  void paintEvent(QPaintEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void place();

  QWidget* view_;
};

}  // namespace foreshard::gui
