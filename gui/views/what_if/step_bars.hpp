// Where a step's time goes: a bar for each variant, by phase, as time per token of a rank, with the
// band of 90 % below it.
#pragma once

#include <vector>

#include "gui/views/base/painted_widget.hpp"
#include "gui/views/what_if/variant.hpp"

namespace foreshard::gui {

class StepBars : public PaintedWidget {
  Q_OBJECT
 public:
  explicit StepBars(QWidget* parent = nullptr);

  void set_variants(std::vector<Variant> variants);
  void set_stale(bool is_stale);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {280, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  double per_token(const Outcome& outcome, double ns) const;
  void paint_variant(QPainter& painter, const Variant& variant, double top, double scale) const;
  void paint_legend(QPainter& painter, double top) const;

  std::vector<Variant> variants_;
  bool is_stale_ = false;
};

}  // namespace foreshard::gui
