// What a run does besides training. A prediction is of a run that does neither.
#pragma once

namespace foreshard {

struct RunVariant {
  bool resumes = false;            // the first step takes the optimizer's states from a checkpoint
  bool exports_gradients = false;  // the host keeps the first step's reduced gradients
};

}  // namespace foreshard
