#include "models/program/oom_report.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "models/base/json_text.hpp"

namespace foreshard {

std::string_view operator_that_uses(const RankProgram& program, const Program& code,
                                    std::int64_t allocation) {
  const auto first = code.instructions.begin() + allocation;
  const auto user = std::find_if(first, code.instructions.end(), [&](const Instruction& i) {
    if (i.cost_key == kNone) return false;
    const auto operands = code.operands.begin() + i.operands;
    const auto end = operands + i.reads + i.writes;
    return std::find(operands, end, first->target) != end;
  });
  return user == code.instructions.end() ? "" : program.operator_name(*user);
}

OomReport oom_report(const RankProgram& program, std::int64_t step, std::int64_t instruction,
                     int rank, const OutOfMemory& request) {
  const Program& code = program.step(step);
  const Instruction& failed = code.instructions[static_cast<std::size_t>(instruction)];
  return {step,
          rank,
          instruction,
          std::string(operator_that_uses(program, code, instruction)),
          std::string(unit_name(program, failed.unit)),
          std::string(name(failed.phase)),
          request};
}

std::string to_json(const OomReport& report) {
  const nlohmann::ordered_json json = {{"step", report.step},
                                       {"rank", report.rank},
                                       {"instruction", report.instruction},
                                       {"operator", report.operator_name},
                                       {"unit", report.unit},
                                       {"phase", report.phase},
                                       {"requested_bytes", report.request.requested},
                                       {"allocated_bytes", report.request.allocated},
                                       {"reserved_bytes", report.request.reserved}};
  return json_text(json);
}

}  // namespace foreshard
