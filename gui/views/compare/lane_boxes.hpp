// Draws the events of a lane: those of 3 pixels and more as boxes, shorter ones together as columns
// as high as their share of the time, so that none vanishes.
#pragma once

#include <QPainter>
#include <QString>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/comparison/lane_pairs.hpp"

namespace foreshard::gui {

QString lane_name(LaneKind kind);  // "All-gather"

class LaneBoxes {
 public:
  // `is_predicted`: pale, hatched and outlined.
  LaneBoxes(const QRectF& area, bool is_predicted);

  void add(QPainter& painter, double left, double right, const EventColour& colour,
           bool is_selected);
  void finish(QPainter& painter);  // the columns, and the outline of what is selected

 private:
  struct Column {
    double covered = 0;  // of a pixel
    double longest = 0;
    EventColour colour;  // of the longest
  };

  QRectF area_;
  bool is_predicted_;
  std::vector<Column> columns_;
  QRectF selected_;
};

}  // namespace foreshard::gui
