// Small plots of the inspector of an event: its band, and its like.
#pragma once

#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/base/selection.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

// A figure with its band: a bar that is solid to the band's low end and hatched from there to its
// high end, with a tick at the figure; the ends stand below.
class BandBar : public PaintedWidget {
  Q_OBJECT
 public:
  explicit BandBar(QWidget* parent = nullptr);

  void set_band(double value_ns, double low_ns, double high_ns, EventColour colour);

  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  double value_ = 0, low_ = 0, high_ = 0;
  EventColour colour_;
};

struct Twin {
  double duration_ns = 0;
  QString label;  // "layers.31"
  EventId event{};
};

// The durations of an event and of its like in the same step as a strip of bars; the event itself
// is solid, the others pale. A click or the arrows go to another one. Where there are more bars
// than pixels, a pixel shows the longest of those that fall on it.
class TwinStrip : public PaintedWidget {
  Q_OBJECT
 public:
  explicit TwinStrip(QWidget* parent = nullptr);

  void set_twins(std::vector<Twin> twins, int current, EventColour colour);
  QRectF bar(int twin) const;

  QSize sizeHint() const override;

 Q_SIGNALS:
  void followed(foreshard::gui::EventId event);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  double bars_height() const;
  int twin_at(double x) const;
  void follow(int twin);

  std::vector<Twin> twins_;
  double longest_ns_ = 0;
  int current_ = 0;
  EventColour colour_;
};

}  // namespace foreshard::gui
