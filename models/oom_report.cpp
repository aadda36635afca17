#include "models/oom_report.hpp"

#include <algorithm>

namespace foreshard {

OomContext oom_context(const RankProgram& program, std::int64_t step, std::int64_t instruction) {
  const Program& code = program.step(step);
  const auto first = code.instructions.begin() + instruction;
  OomContext context;
  context.phase = first->phase;
  if (first->unit != kNone)
    context.unit = program.units[static_cast<std::size_t>(first->unit)].name;
  const auto user = std::find_if(first, code.instructions.end(), [&](const Instruction& i) {
    if (i.cost_key == kNone) return false;
    const auto operands = code.operands.begin() + i.operands;
    const auto end = operands + i.reads + i.writes;
    return std::find(operands, end, first->target) != end;
  });
  if (user != code.instructions.end()) {
    context.operator_name = name(program.cost_keys[static_cast<std::size_t>(user->cost_key)].op);
  }
  return context;
}

}  // namespace foreshard
