// What a rank reports of a step it has run.
#pragma once

#include <cmath>
#include <cstdint>

#include "models/base/units.hpp"

namespace foreshard::executor {

struct StepReport {
  std::int64_t step = 0;
  double loss = 0;
  double gradient_norm = 0;
  double own_loss = 0;       // of this rank's samples; the others are of the step
  bool is_skipped = false;   // not finite, and nothing was updated for that
  std::int64_t skipped = 0;  // of all steps of the training so far, those that were skipped
  Nanoseconds start{0}, end{0};

  // The same on every rank of a run.
  bool is_finite() const { return std::isfinite(loss) && std::isfinite(gradient_norm); }
  // Whether the run may go on behind it.
  bool is_sound() const { return is_finite() || is_skipped; }
};

}  // namespace foreshard::executor
