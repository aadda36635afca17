// The questions that a search asks, one by one and all at once.
#include <algorithm>
#include <utility>

#include "models/question/question_json.hpp"
#include "simulator/search/search.hpp"

namespace foreshard::simulator {

int node_count(const SearchTarget& target) {
  if (target.nodes > 0 || target.machine == nullptr) return target.nodes;
  return static_cast<int>(ceil_divide(target.gpus, target.machine->gpus_per_node));
}

Question question_on(const SearchRequest& request, const SearchTarget& target, const Plan& plan) {
  Question question = request.base;
  question.plan = plan;
  question.ranks = target.gpus;
  question.nodes = target.nodes;
  question.machine.reset();
  if (target.machine != nullptr) question.machine = *target.machine;
  question.machine_id = target.machine_id;
  question.own_device = target.own_device;
  const bool is_on_tpu = target.machine != nullptr && is_tpu(*target.machine);
  if (is_on_tpu && !request.names_operators) question.plan.operators = OperatorSetName::xla;
  return question;
}

std::string question_json(const SearchRequest& request) {
  std::vector<Plan> plans;
  for (const PlanAxis& axis : request.space) {
    for (const PlanChoice& choice : axis.choices) {
      plans.push_back(request.base.plan);
      for (const PlanSetting& setting : choice) setting.set_in(plans.back());
    }
  }
  if (plans.empty()) plans.push_back(request.base.plan);
  std::vector<std::string> questions;
  for (const SearchTarget& target : request.targets) {
    for (const Plan& plan : plans) {
      questions.push_back(foreshard::question_json(question_on(request, target, plan)));
    }
  }
  return merged_question_json(questions);
}

}  // namespace foreshard::simulator
