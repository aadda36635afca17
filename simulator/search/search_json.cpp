#include <nlohmann/json.hpp>

#include "models/base/json_text.hpp"
#include "simulator/search/search_report.hpp"

namespace foreshard::simulator {
namespace {

using nlohmann::ordered_json;

// A value as a plan file spells it is JSON as well, in every type that a key has.
ordered_json value_json(const std::string& spelt) {
  const auto value = ordered_json::parse(spelt, nullptr, false);
  return value.is_discarded() ? ordered_json(spelt) : value;
}

ordered_json text_or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json rent_json(const Rent& rent) {
  if (rent.usd_per_hour <= 0) return nullptr;
  ordered_json out = {{"usd_per_hour", rent.usd_per_hour},
                      {"instance", text_or_null(rent.instance)},
                      {"instances", nullptr},
                      {"price_kind", text_or_null(rent.kind)},
                      {"region", text_or_null(rent.region)},
                      {"date", text_or_null(rent.date)},
                      {"source", rent.source}};
  if (rent.instances > 0) out["instances"] = rent.instances;
  return out;
}

ordered_json number_or_null(std::optional<double> number) {
  return number ? ordered_json(*number) : ordered_json(nullptr);
}

// What training on so many tokens takes by a plan; null where it is not asked.
ordered_json training_json(const SearchRequest& request, const FoundPlan& plan) {
  if (!request.training) return nullptr;
  const auto at = [&](Nanoseconds step) { return plan.training_cost_at(*request.training, step); };
  const TrainingCost cost = at(plan.step_time), low = at(plan.step_time_low),
                     high = at(plan.step_time_high);
  ordered_json out = {{"tokens", request.training->tokens},
                      {"hours", cost.seconds / 3600},
                      {"hours_low", low.seconds / 3600},
                      {"hours_high", high.seconds / 3600},
                      {"usd", number_or_null(cost.usd)},
                      {"usd_low", number_or_null(low.usd)},
                      {"usd_high", number_or_null(high.usd)},
                      {"goodput", nullptr},
                      {"checkpoint_s", nullptr},
                      {"checkpoint_interval_s", nullptr},
                      {"hours_between_failures", nullptr}};
  if (plan.reliability) {
    out["goodput"] = goodput(*plan.reliability);
    out["checkpoint_s"] = plan.reliability->save;
    out["checkpoint_interval_s"] = checkpoint_interval(*plan.reliability);
    out["hours_between_failures"] = plan.reliability->between_failures / 3600;
  }
  return out;
}

ordered_json found_json(const SearchRequest& request, const FoundPlan& found) {
  ordered_json values = ordered_json::object();
  for (const auto& [key, value] : found.values) values[key] = value_json(value);
  ordered_json out = {{"plan", to_toml(found.plan)},
                      {"values", std::move(values)},
                      {"machine", nullptr},
                      {"gpus", found.target.gpus},
                      {"nodes", nullptr},
                      {"step_time_ns", found.step_time.count()},
                      {"step_time_low_ns", found.step_time_low.count()},
                      {"step_time_high_ns", found.step_time_high.count()},
                      {"tokens_per_s", found.tokens_per_s},
                      {"cost_per_million_tokens", number_or_null(found.usd_per_million_tokens)},
                      {"cost_per_million_tokens_low",
                       number_or_null(found.usd_per_million_tokens_at(found.step_time_low))},
                      {"cost_per_million_tokens_high",
                       number_or_null(found.usd_per_million_tokens_at(found.step_time_high))},
                      {"rent", rent_json(found.target.rent)},
                      {"peak_reserved_bytes", found.peak_reserved},
                      {"training", training_json(request, found)}};
  if (found.target.machine != nullptr) out["machine"] = found.target.machine->id;
  if (const int nodes = node_count(found.target); nodes > 0) out["nodes"] = nodes;
  return out;
}

ordered_json list_json(const SearchRequest& request, const std::vector<FoundPlan>& plans) {
  ordered_json out = ordered_json::array();
  for (const FoundPlan& plan : plans) out.push_back(found_json(request, plan));
  return out;
}

}  // namespace

std::string search_json(const SearchRequest& request, const SearchAnswer& answer) {
  ordered_json out = {{"question", ordered_json::parse(question_json(request))},
                      {"model", request.base.model.name},
                      {"assumed", request.assumed},
                      {"plans_considered", answer.considered},
                      {"plans_fitting", answer.fitting},
                      {"plans_out_of_memory", answer.out_of_memory},
                      {"plans_cut_by_bound", answer.cut_by_bound},
                      {"plans_over_budget", answer.over_budget},
                      {"plans_too_late", answer.too_late},
                      {"plans_predicted", answer.predicted},
                      {"plans_per_s_per_core", answer.plans_per_s_per_core()},
                      {"threads", answer.threads},
                      {"processes", answer.processes},
                      {"seconds", answer.seconds},
                      {"processor_seconds", answer.processor_seconds},
                      {"best", nullptr}};
  if (!answer.top.empty()) out["best"] = found_json(request, answer.top.front());
  out["best_sure"] =
      answer.best_sure ? found_json(request, *answer.best_sure) : ordered_json(nullptr);
  out["top"] = list_json(request, answer.top);
  out["runner_up"] = runner_up_text(answer, request.objective);
  out["pareto"] = list_json(request, answer.pareto);
  out["pareto_cost"] = list_json(request, answer.pareto_cost);
  out["training"] = answer.top.empty() ? nullptr : training_json(request, answer.top.front());
  out["warnings"] = answer.warnings;
  return json_text(out, 2);
}

}  // namespace foreshard::simulator
