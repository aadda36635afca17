// The machine of most tests of predictions.
#pragma once

#include "models/hardware/hardware.hpp"

namespace foreshard::simulator {

inline const Machine& h100() {
  static const Machine machine = *load_machine("h100-sxm");
  return machine;
}

}  // namespace foreshard::simulator
