// Plans of a sweep by throughput and peak memory: those that no other beats are filled and joined
// by the front, marks tell the first key's values apart, as the legend says, and figures the
// second's. A click, or Enter on
// the one that arrows have gone to, applies a plan.
#pragma once

#include <memory>
#include <vector>

#include "gui/paint/legend.hpp"
#include "gui/views/base/painted_widget.hpp"
#include "gui/views/what_if/variant.hpp"

namespace foreshard::gui {

class SweepPlot : public PaintedWidget {
  Q_OBJECT
 public:
  explicit SweepPlot(QWidget* parent = nullptr);

  // Null: not known yet, for the present settings.
  void set_surroundings(std::shared_ptr<const Surroundings> surroundings);
  void set_variants(std::vector<Variant> variants);
  QPointF point_centre(std::size_t point) const;
  std::vector<QRectF> badge_boxes() const;  // of the variants that have a place in the plot
  const Legend& legend() const { return legend_; }

 Q_SIGNALS:
  void applied(const Changes& changes);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QRectF area() const;
  QPointF place(double gib, double tokens) const;
  void measure();
  void place_legend();
  int point_at(QPointF point) const;
  void apply(int point);
  QString title_of(const SweepPoint& point) const;
  void paint_axes(QPainter& painter) const;
  void paint_front(QPainter& painter) const;
  void paint_points(QPainter& painter) const;
  std::vector<const Variant*> placed_variants() const;
  QPointF variant_centre(const Variant& variant) const;
  void paint_variants(QPainter& painter) const;
  void paint_label(QPainter& painter, QPointF mark, const QString& text,
                   std::vector<QRectF>& taken) const;
  void paint_card(QPainter& painter) const;

  std::shared_ptr<const Surroundings> surroundings_;  // the last that was known
  std::vector<Variant> variants_;
  Legend legend_;
  bool is_stale_ = true;
  int chosen_ = -1;  // under the mouse, or where arrows have gone
  double least_gib_ = 0, most_gib_ = 1, least_tokens_ = 0, most_tokens_ = 1;
};

}  // namespace foreshard::gui
