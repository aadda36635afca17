// Phase, FSDP unit and step of an NVTX range, derived from its name. Only for the sources of this
// folder.
#pragma once

#include <string_view>

#include "traces/annotations.hpp"

namespace foreshard::traces::nsys {

// Views into `name`, or of constants. Besides the annotations of PyTorch it recognises autograd's
// "MmBackward0", module paths ("model.layers.3.mlp") and plain words such as "backward".
Annotation classify_range(std::string_view name);

// The name of an operator without what torch.autograd.profiler.emit_nvtx adds to it:
// "aten::mm, seq = 7, op_id = 9" is "aten::mm". Equal to `name` for every other range.
std::string_view operator_name(std::string_view name);

}  // namespace foreshard::traces::nsys
