// Measures that the parts of the comparison's canvas share.
#pragma once

#include "gui/paint/fonts.hpp"

namespace foreshard::gui {

constexpr double kRight = 0;
inline double lane_left() {
  return scaled(176);
}

}  // namespace foreshard::gui
