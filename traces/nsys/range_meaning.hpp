// What the name of a range says about training: the phase, the FSDP unit, the step. Only for the
// sources of this folder.
#pragma once

#include <cstdint>
#include <string_view>

namespace foreshard::traces::nsys {

struct RangeMeaning {
  std::string_view phase;  // forward, backward, optimizer, or empty
  std::string_view unit;   // module path, "root", or empty
  std::int64_t step = -1;

  // FSDP2's hooks are ranges around a unit's work, not over it: the unit begins with one and ends
  // with another.
  bool begins_unit = false, ends_unit = false;
};

// Views into `name`, or of constants. Knows FSDP2's "FSDP::pre_forward (layers.0)", FSDP1's
// "FullyShardedDataParallel.forward", "ProfilerStep#3", "Optimizer.step#AdamW.step", autograd's
// "MmBackward0", module paths ("model.layers.3.mlp"), and plain words such as "backward".
RangeMeaning meaning_of(std::string_view name);

// The name of an operator without what torch.autograd.profiler.emit_nvtx adds to it:
// "aten::mm, seq = 7, op_id = 9" is "aten::mm". Equal to `name` for every other range.
std::string_view operator_name(std::string_view name);

}  // namespace foreshard::traces::nsys
