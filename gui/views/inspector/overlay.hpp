// A panel in front of the window, which is dimmed behind it: Esc or a click beside the panel closes
// it, and the keyboard goes back to where it was.
#pragma once

#include <QPointer>

#include "gui/views/base/painted_widget.hpp"

class QVBoxLayout;

namespace foreshard::gui {

class Overlay : public PaintedWidget {
  Q_OBJECT
 public:
  // Over `window`, whose size it follows; hidden until it is opened. `panel`: its size where there
  // is room for it.
  Overlay(QWidget* window, QSize panel);

  void open(QWidget* focus);  // the keyboard goes to `focus`
  void close_overlay();
  QRect panel() const;

 protected:
  QVBoxLayout* content() const { return content_; }

  bool eventFilter(QObject* watched, QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QSize largest_;
  QVBoxLayout* content_;
  QPointer<QWidget> focus_before_;
};

}  // namespace foreshard::gui
