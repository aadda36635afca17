// Plans of a sweep by throughput and peak memory: those that no other beats are filled and joined
// by the front, marks tell the first key's values apart, as the legend says, and figures the
// second's. A click, or Enter on
// the one that arrows have gone to, applies a plan.
#pragma once

#include <QStringList>
#include <memory>
#include <vector>

#include "gui/views/base/painted_widget.hpp"
#include "gui/views/what_if/variant.hpp"

namespace foreshard::gui {

// The marks of a sweep's plans: a shape of its own for each value of the first key, filled where no
// other plan beats it.
constexpr std::size_t kSweepShapes = 8;  // of more values the first shape comes again

void draw_sweep_mark(QPainter& painter, QPointF centre, std::size_t value, bool is_filled);

// A mark and a word for each value, from left to right in as many lines as they need.
class SweepLegend {
 public:
  SweepLegend() = default;
  SweepLegend(const QStringList& values, QPointF top_left, double width);

  void paint(QPainter& painter) const;
  QPointF mark_centre(std::size_t value) const { return entries_[value].mark; }
  double height() const { return height_; }

 private:
  struct Entry {
    QPointF mark;
    QString text;
  };
  std::vector<Entry> entries_;
  double height_ = 0;
};

class SweepPlot : public PaintedWidget {
  Q_OBJECT
 public:
  explicit SweepPlot(QWidget* parent = nullptr);

  // Null: not known yet, for the present settings.
  void set_surroundings(std::shared_ptr<const Surroundings> surroundings);
  void set_variants(std::vector<Variant> variants);
  QPointF point_centre(std::size_t point) const;
  std::vector<QRectF> badge_boxes() const;  // of the variants that have a place in the plot
  const SweepLegend& legend() const { return legend_; }

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
  SweepLegend legend_;
  bool is_stale_ = true;
  int chosen_ = -1;  // under the mouse, or where arrows have gone
  double least_gib_ = 0, most_gib_ = 1, least_tokens_ = 0, most_tokens_ = 1;
};

}  // namespace foreshard::gui
