#include "models/sharding/question.hpp"

#include "models/base/units.hpp"
#include "models/sharding/pytorch_device.hpp"

namespace foreshard {

std::int64_t tokens_per_step(const Question& question) {
  return question.plan.tokens() * question.plan.batch.accumulation * question.ranks;
}

int node_count(const Question& question) {
  if (question.nodes > 0) return question.nodes;
  const bool is_pytorch = describes_pytorch(question.plan.operators);
  if (!question.machine && !is_pytorch) return 1;
  const Machine& machine = question.machine ? *question.machine : default_pytorch_machine();
  return static_cast<int>(ceil_divide(question.ranks, machine.gpus_per_node));
}

}  // namespace foreshard
