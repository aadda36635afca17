// The durations of an event and of its like in the same step as a strip of bars; the event itself
// is solid, the others pale. A click or the arrows go to another one. Where there are more bars
// than pixels, a pixel shows the longest of those that fall on it.
#pragma once

#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

struct Twin {
  double duration_ns = 0;
  QString label;  // "layers.31"
};

class TwinStrip : public PaintedWidget {
  Q_OBJECT
 public:
  explicit TwinStrip(QWidget* parent = nullptr);

  void set_twins(std::vector<Twin> twins, int current, EventColour colour);
  QString unit() const;  // of the duration that stands below the last bar
  QRectF bar(int twin) const;

  QSize sizeHint() const override;

 Q_SIGNALS:
  void followed(int twin);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  double bars_height() const;
  int twin_at(double x) const;

  std::vector<Twin> twins_;
  double longest_ns_ = 0;
  int current_ = 0;
  EventColour colour_;
};

}  // namespace foreshard::gui
