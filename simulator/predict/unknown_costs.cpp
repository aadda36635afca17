#include "simulator/predict/unknown_costs.hpp"

namespace foreshard::simulator {

UnknownCosts unknown_operators(const RankProgram& program, const ProgramCosts& costs,
                               std::int64_t step) {
  UnknownCosts unknown;
  const Program& instructions = program.step(step);
  const std::size_t places = cost_places(program.place);
  for (std::size_t n = 0; n < instructions.instructions.size(); ++n) {
    const Instruction& i = instructions.instructions[n];
    if (i.cost_key == kNone) continue;
    if (costs.sources[cost_index(i, places)] != CostSource::unknown) continue;
    unknown[program.operator_name(i)] += instructions.repetition.times(n);
  }
  return unknown;
}

std::string unknown_costs_text(const UnknownCosts& unknown, const std::string& device) {
  std::string text = "no step time: the costs of";
  for (const auto& [what, count] : unknown) {
    text += (text.ends_with(" of") ? " " : ", ") + std::string(what) + " (" +
            std::to_string(count) + " in a step)";
  }
  text += " are unknown";
  if (!device.empty()) {
    text += ", for the recordings do not show them and the catalogue has no \"" + device +
            "\"; name the machine that comes nearest with --machine, a line of your own with "
            "FILE.csv:id, or fit recordings that show them";
  }
  return text;
}

}  // namespace foreshard::simulator
