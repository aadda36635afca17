// A real GPU's threads have no order that a test could choose.
#include "tests/cuda/emulation/block.hpp"

namespace foreshard::emulation {

void reverse_threads(bool /*reversed*/) {}

}  // namespace foreshard::emulation
