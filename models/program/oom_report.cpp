#include "models/program/oom_report.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "models/base/json_text.hpp"

namespace foreshard {

namespace {

// The first instruction of [begin, end) that works on the buffer.
const Instruction* user_of(const Program& code, BufferId buffer, std::int32_t begin,
                           std::int32_t end) {
  const auto last = code.instructions.begin() + end;
  const auto user = std::find_if(code.instructions.begin() + begin, last, [&](const auto& i) {
    if (i.cost_key == kNone) return false;
    const auto operands = code.operands.begin() + i.operands;
    const auto operands_end = operands + i.reads + i.writes;
    return std::find(operands, operands_end, buffer) != operands_end;
  });
  return user == last ? nullptr : &*user;
}

}  // namespace

// What one copy of a repetition makes for the next one has the numbers there of what the copy before the
// written one made.
std::string_view operator_that_uses(const RankProgram& program, const Program& code,
                                    std::int32_t allocation) {
  const Repetition& r = code.repetition;
  const auto [first, copy] = r.written(allocation);
  const BufferId buffer = code.instructions[static_cast<std::size_t>(first)].target;
  const auto end = static_cast<std::int32_t>(code.instructions.size());
  const Instruction* user = nullptr;
  if (r.begin <= first && first < r.end && copy < r.more) {
    const bool is_made = buffer >= r.first_buffer;
    user = user_of(code, buffer, first, r.end);
    if (user == nullptr) {
      user = user_of(code, is_made ? buffer - r.buffers() : buffer, r.begin, r.end);
    }
    if (user == nullptr && !is_made) user = user_of(code, buffer, r.end, end);
  } else {
    user = user_of(code, buffer, first, end);
  }
  return user == nullptr ? "" : program.operator_name(*user);
}

OomReport oom_report(const RankProgram& program, std::int64_t step, std::int32_t instruction,
                     int rank, const OutOfMemory& request) {
  const Program& code = program.step(step);
  const auto number = static_cast<std::size_t>(code.repetition.written(instruction).instruction);
  const Instruction& failed = code.instructions[number];
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
