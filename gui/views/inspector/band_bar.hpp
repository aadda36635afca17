// A figure with its band: a bar that is solid to the band's low end and hatched from there to its
// high end, with a tick at the figure; the ends stand below.
#pragma once

#include "gui/models/base/colour_role.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

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

}  // namespace foreshard::gui
