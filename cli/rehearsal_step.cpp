#include "cli/rehearsal_step.hpp"

#include <algorithm>
#include <map>
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

// Gives all programs one table of groups. Ranks name a group alike or not, as they count those that they are not
// in: the n-th with the same ranks is the same.
void unite_groups(std::vector<RankProgram>& programs) {
  std::vector<GroupInfo> all;
  const auto is_alike = [](const GroupInfo& a, const GroupInfo& b) {
    return a.ranks == b.ranks && a.stride == b.stride && a.first == b.first;
  };
  for (RankProgram& program : programs) {
    std::vector<Group> united;
    for (auto of = program.groups.begin(); of != program.groups.end(); ++of) {
      auto before = std::count_if(program.groups.begin(), of,
                                  [&](const GroupInfo& other) { return is_alike(*of, other); });
      auto found = all.begin();
      for (; found != all.end(); ++found) {
        if (is_alike(*of, *found) && before-- == 0) break;
      }
      united.push_back(static_cast<Group>(found - all.begin()));
      if (found == all.end()) all.push_back(*of);
    }
    for (Program& step : program.programs) {
      for (Instruction& i : step.instructions) {
        if (i.kind == foreshard::Kind::collective)
          i.group = united[static_cast<std::size_t>(i.group)];
      }
    }
  }
  for (RankProgram& program : programs) program.groups = all;
}

// Of each rank, by its stage where there is a pipeline.
std::vector<int> classes(const std::map<int, int>& class_of, const std::vector<int>& pipeline,
                         int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    int like = rank;
    if (!class_of.contains(rank) && pipeline.size() > 1 && pipeline[1] > pipeline[0]) {
      const int stage = rank / (pipeline[1] - pipeline[0]) % static_cast<int>(pipeline.size());
      like = pipeline[static_cast<std::size_t>(stage)];
    }
    const auto found = class_of.find(like);
    if (found != class_of.end()) all[static_cast<std::size_t>(rank)] = found->second;
  }
  return all;
}

}  // namespace

RehearsedStep rehearsed_step(std::vector<std::pair<int, RankProgram>> programs,
                             const std::vector<int>& pipeline, const RehearsalQuestion& question,
                             const Machine& machine) {
  RehearsedStep step;
  RankPrograms set;
  std::map<int, int> class_of;
  std::set<std::string> unpriced;
  for (auto& [rank, program] : programs) {
    add_unpriced(program, unpriced);
    class_of[rank] = static_cast<int>(set.programs.size());
    set.programs.push_back(std::move(program));
  }
  step.unpriced.assign(unpriced.begin(), unpriced.end());
  unite_groups(set.programs);
  // One rank was rehearsed in the place of rank 0.
  if (set.programs.size() == 1) class_of.clear();
  set.class_of_rank = classes(class_of, pipeline, question.ranks);
  if (const auto ok = check_set(set, ""); !ok) {
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
