// Whether autograd records: in training, or in a forward without gradients (torch.no_grad), in which
// nothing is kept for a backward that never comes.
#pragma once

#include <cstdint>

namespace foreshard::lowering {

enum class GradMode : std::uint8_t { enabled, disabled };

}  // namespace foreshard::lowering
