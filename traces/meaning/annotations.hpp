// Meaning of range and operator names: FSDP unit, phase of the step, begin and end of a unit's own
// work, profiler step, collective of a process group.
//
//   FSDP2        FSDP::pre_forward (layers.0), FSDP::all_gather, FSDP::backward_prefetch for layers.1
//                (the root's have no suffix); a unit's own work stands between pre_forward and
//                post_forward, and between pre_backward and the first post_backward
//   FSDP1        FullyShardedDataParallel._pre_forward: phases, but no units
//   autograd     autograd::engine::evaluate_function: MmBackward0, MmBackward0
//   modules      nn.Module: Linear_3, a call of its forward
//   optimizers   Optimizer.step#AdamW.step
//   people       forward, ## Backward ##, optimizer_step; module paths, model.layers.3.mlp
//   steps        ProfilerStep#3, train_step 3, iteration_3; foreshard step 3 is one that `foreshard
//                profile` marked where the program did not
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace foreshard::traces {

constexpr std::string_view kMarkedStep = "foreshard step";  // its number follows

struct Annotation {
  std::string_view unit;   // "root" where FSDP means it, empty where none is meant
  std::string_view phase;  // by the names of models' phases, empty where unknown
  enum class Scope : std::uint8_t { none, begins, ends, resets };
  Scope scope = Scope::none;           // what it does to the unit's own work, once it is over
  std::optional<std::int32_t> step{};  // its number
};

// Views into `name`, or of constants.
Annotation annotation_of(std::string_view name);

}  // namespace foreshard::traces
