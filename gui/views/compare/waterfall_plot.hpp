// Draws how the baseline's step becomes the candidate's, part by part.
#pragma once

#include <memory>

#include "gui/models/comparison/trace_comparison.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class WaterfallPlot : public PaintedWidget {
  Q_OBJECT
 public:
  explicit WaterfallPlot(QWidget* parent = nullptr);

  void set_comparison(std::shared_ptr<const TraceComparison> comparison);
  QSize sizeHint() const override { return {320, 240}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::shared_ptr<const TraceComparison> comparison_;
};

}  // namespace foreshard::gui
