// A line along the bottom of its parent while an answer is awaited for long: a stretch of it that
// moves from left to right, or, where less motion is wanted, all of it. It takes no input.
#pragma once

#include <QTimer>

#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class ProgressHairline : public PaintedWidget {
  Q_OBJECT
 public:
  static constexpr int kDelayMs = 200;  // answers that come sooner need no sign

  explicit ProgressHairline(QWidget* parent);

  // It appears after a while and stays as long as something is awaited.
  void set_awaiting(bool awaits);

 protected:
  bool eventFilter(QObject* parent, QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void appear();
  void follow_parent();

  QTimer delay_, motion_;
  double place_ = 0;  // of the stretch's left end: 0 to 1
};

}  // namespace foreshard::gui
