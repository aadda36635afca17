#include "simulator/host/checkpointed_layers.hpp"

#include <algorithm>
#include <utility>

namespace foreshard::simulator {
namespace {

using Launched = std::pair<OperatorId, Operator>;

Launched launched(const RankProgram& program, const Instruction& i) {
  return {i.op, program.cost_keys[static_cast<std::size_t>(i.cost_key)].op};
}

}  // namespace

bool is_of_model(const RankProgram& program, const Instruction& i) {
  if (i.kind != Kind::launch) return false;
  return i.op != kNone || is_matmul(program.cost_keys[static_cast<std::size_t>(i.cost_key)].op);
}

std::int32_t layer_of(const RankProgram& program, const Instruction& i) {
  return i.module == kNone ? kNone : program.tree.modules[static_cast<std::size_t>(i.module)].layer;
}

// Full checkpointing computes the forward again up to its end or, stopping early, up to what is needed
// last; selective checkpointing leaves out what was saved in between. One layer stands for all.
CheckpointedLayers checkpointed_layers(const RankProgram& program, const Program& step) {
  CheckpointedLayers found;
  const auto& all = step.instructions;
  const auto is_again = [](const Instruction& i) { return i.phase == Phase::recompute; };
  for (const Instruction& i : all) {
    if (!is_again(i)) continue;
    const std::int32_t layer = layer_of(program, i);
    if (layer < 0) continue;
    const auto wanted = static_cast<std::size_t>(layer) + 1;
    if (found.layers.size() < wanted) found.layers.resize(wanted);
    found.layers[wanted - 1] = true;
  }
  if (found.layers.empty()) return found;
  auto again = std::find_if(all.begin(), all.end(), is_again);
  std::int32_t layer = kNone;
  std::vector<Launched> recomputed, forward;
  for (; again != all.end(); ++again) {
    if (!is_of_model(program, *again)) continue;
    if (!is_again(*again)) break;
    layer = layer_of(program, *again);
    recomputed.push_back(launched(program, *again));
  }
  for (const Instruction& i : all) {
    if (forward.size() == recomputed.size()) break;
    if (i.phase != Phase::forward || layer_of(program, i) != layer) continue;
    if (is_of_model(program, i)) forward.push_back(launched(program, i));
  }
  found.is_selective = forward != recomputed;
  return found;
}

}  // namespace foreshard::simulator
