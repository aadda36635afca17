// A legend: marks with words from left to right, in as many lines as they need.
#pragma once

#include <QPainter>
#include <QString>
#include <functional>
#include <vector>

namespace foreshard::gui {

struct LegendItem {
  QString text;
  double mark_width = 8;
  std::function<void(QPainter& painter, QPointF centre)> draw_mark;
};

class Legend {
 public:
  Legend() = default;
  Legend(const std::vector<LegendItem>& entries, QPointF top_left, double width);

  void paint(QPainter& painter) const;
  QPointF mark_centre(std::size_t entry) const { return places_[entry].mark; }
  double height() const { return height_; }

 private:
  struct Place {
    LegendItem entry;
    QPointF mark;
  };
  std::vector<Place> places_;
  double height_ = 0;
};

}  // namespace foreshard::gui
