// How wide a prediction's band is.
#pragma once

#include <cmath>

#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

// The logarithm of its upper end over the step time.
inline double log_width(const Prediction& p) {
  return std::log(static_cast<double>(p.step_time_high.count()) /
                  static_cast<double>(p.step_time.count()));
}

}  // namespace foreshard::simulator
