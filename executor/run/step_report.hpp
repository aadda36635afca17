// What a rank reports of a step it has run.
#pragma once

#include <cstdint>

#include "models/base/units.hpp"

namespace foreshard::executor {

struct StepReport {
  std::int64_t step = 0;
  double loss = 0;
  double gradient_norm = 0;
  Nanoseconds start{0}, end{0};
};

}  // namespace foreshard::executor
