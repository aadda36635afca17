// Which decoder layers of a program are computed again in backward, and how: PyTorch keeps all that was
// recomputed (full checkpointing), or looks at each operator whether its result was saved (selective).
#pragma once

#include <vector>

#include "models/program/step_program.hpp"

namespace foreshard::simulator {

// Whether it is the model's own work, rather than what gathers, reduces or updates parameters.
bool is_of_model(const RankProgram& program, const Instruction& i);

// The decoder layer that an instruction belongs to; kNone: to none.
std::int32_t layer_of(const RankProgram& program, const Instruction& i);

struct CheckpointedLayers {
  std::vector<bool> layers;  // empty: none
  bool is_selective = false;

  bool has(std::int32_t layer) const {
    return layer >= 0 && static_cast<std::size_t>(layer) < layers.size() &&
           layers[static_cast<std::size_t>(layer)];
  }
};

CheckpointedLayers checkpointed_layers(const RankProgram& program, const Program& step);

}  // namespace foreshard::simulator
