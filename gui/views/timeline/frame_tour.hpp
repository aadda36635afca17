// How long the timeline's frames take: a fixed tour of zooms and pans over a view, each frame drawn to
// an image of the view's size as the screen would show it.
//
// Between frames events are handled until the next one is due, 60 a second, so that workers deliver
// what they have as they do on a screen. The time of a frame is that of the step's input and of
// drawing, with what was delivered until then.
#pragma once

#include <vector>

#include "gui/views/timeline/timeline_view.hpp"

namespace foreshard::gui {

struct FrameTimes {
  std::vector<double> milliseconds;  // of each frame, in the tour's order

  double at(double share) const;  // 0.5: the median; 1: the worst
};

// Leaves the axis where it was.
FrameTimes tour_frames(TimelineView& view, TimeAxis& axis);

}  // namespace foreshard::gui
