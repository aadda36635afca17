// What a run does besides training. A prediction is of a run that does nothing of it, unless it is told.
#pragma once

namespace foreshard {

struct RunVariant {
  bool resumes = false;            // the first step takes the optimizer's states from a checkpoint
  bool exports_gradients = false;  // the host keeps the first step's reduced gradients
  bool exports_weights = false;    // after the last step, the host keeps the parameters
  bool saves = false;              // likewise, and the optimizer's states: a checkpoint
  bool may_skip_updates = false;   // the host knows loss and norm of a step before it updates
};

}  // namespace foreshard
