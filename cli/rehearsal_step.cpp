#include "cli/rehearsal_step.hpp"

#include <set>

#include "cli/rehearsal_answer.hpp"
#include "models/program/check_set.hpp"
#include "simulator/predict/program_set.hpp"

namespace foreshard::cli {
namespace {

void add_unpriced(const RankProgram& program, std::set<std::string>& names) {
  for (const Instruction& i : program.step(1).instructions) {
    if (i.cost_key == kNone) continue;
    const CostKey& key = program.cost_keys[static_cast<std::size_t>(i.cost_key)];
    if (key.op == Operator::opaque) names.emplace(program.operator_name(i));
  }
}

}  // namespace

RehearsedStep rehearsed_step(std::vector<std::pair<int, RankProgram>> programs,
                             const RehearsalQuestion& question, const Machine& machine) {
  RehearsedStep step;
  RankPrograms set{{}, std::vector<int>(static_cast<std::size_t>(question.ranks), 0)};
  std::set<std::string> unpriced;
  for (auto& [rank, program] : programs) {
    add_unpriced(program, unpriced);
    set.class_of_rank[static_cast<std::size_t>(rank)] = static_cast<int>(set.programs.size());
    set.programs.push_back(std::move(program));
  }
  step.unpriced.assign(unpriced.begin(), unpriced.end());
  // One rank was rehearsed in the place of rank 0.
  if (set.programs.size() == 1) set.class_of_rank.assign(set.class_of_rank.size(), 0);
  if (!check_set(set, "")) {
    step.notes.emplace_back(
        "the ranks that were rehearsed issue different collectives; the step is that of "
        "a job of which every rank is as the first of them");
    set.programs.resize(1);
    set.class_of_rank.assign(set.class_of_rank.size(), 0);
  }
  simulator::PredictionOptions options;
  options.machine = &machine;
  options.device_memory = question.device_memory;
  options.keeps_memory_records = options.wants_explanation = true;
  step.prediction = simulator::predict(simulator::program_set(std::move(set)), options);
  return step;
}

}  // namespace foreshard::cli
