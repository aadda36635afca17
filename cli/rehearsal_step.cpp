#include "cli/rehearsal_step.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "models/program/check_program.hpp"
#include "profiler/rehearsal/program/step_program.hpp"
#include "simulator/predict/program_set.hpp"

namespace foreshard::cli {
namespace {

std::vector<std::string> unpriced_in(const RankProgram& program) {
  std::set<std::string> names;
  for (const Instruction& i : program.step(1).instructions) {
    const bool is_opaque = i.cost_key != kNone &&
                           program.cost_keys[static_cast<std::size_t>(i.cost_key)].op == Operator::opaque;
    if (is_opaque) names.emplace(program.operator_name(i));
  }
  return {names.begin(), names.end()};
}

}  // namespace

Result<RehearsedStep> rehearsed_step(const std::string& folder, const RehearsalQuestion& question,
                                     const Machine& machine) {
  const auto captured = profiler::read_captured_step(folder);
  if (!captured) return tl::unexpected(captured.error());
  auto [program, notes] = profiler::step_program(*captured);
  if (auto ok = check_program(program, folder, "program"); !ok) return tl::unexpected(ok.error());
  RehearsedStep step;
  step.unpriced = unpriced_in(program);
  step.notes = std::move(notes);
  const auto ranks = static_cast<std::size_t>(question.ranks);
  RankPrograms programs{{std::move(program)}, std::vector<int>(ranks, 0)};
  simulator::PredictionOptions options;
  options.machine = &machine;
  options.device_memory = question.device_memory;
  options.keeps_memory_records = true;
  step.prediction = simulator::predict(simulator::program_set(std::move(programs)), options);
  return step;
}

}  // namespace foreshard::cli
