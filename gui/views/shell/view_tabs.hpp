// The tabs of the views in the top bar: words, the shown one underlined. Left and right move along.
#pragma once

#include <QString>
#include <vector>

#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class ViewTabs : public PaintedWidget {
  Q_OBJECT
 public:
  explicit ViewTabs(std::vector<QString> titles, QWidget* parent = nullptr);

  int current() const { return current_; }
  void set_current(int tab);  // tells nobody
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 Q_SIGNALS:
  void chosen(int tab);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  std::vector<QRectF> boxes() const;
  int tab_at(QPointF point) const;  // -1: none

  std::vector<QString> titles_;
  int current_ = 0;
  int hovered_ = -1;
};

}  // namespace foreshard::gui
