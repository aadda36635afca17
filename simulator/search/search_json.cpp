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

ordered_json found_json(const FoundPlan& found) {
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
                      {"peak_reserved_bytes", found.peak_reserved}};
  if (found.target.machine != nullptr) out["machine"] = found.target.machine->id;
  if (const int nodes = node_count(found.target); nodes > 0) out["nodes"] = nodes;
  return out;
}

ordered_json list_json(const std::vector<FoundPlan>& plans) {
  ordered_json out = ordered_json::array();
  for (const FoundPlan& plan : plans) out.push_back(found_json(plan));
  return out;
}

// What training on so many tokens takes by the best plan; null where it is not asked or not known.
ordered_json training_json(const SearchRequest& request, const SearchAnswer& answer) {
  if (!request.train_tokens || answer.top.empty()) return nullptr;
  const FoundPlan& best = answer.top.front();
  ordered_json out = {{"tokens", *request.train_tokens},
                      {"hours", *request.train_tokens / best.tokens_per_s / 3600},
                      {"usd", nullptr}};
  if (best.usd_per_million_tokens) {
    out["usd"] = *best.usd_per_million_tokens * *request.train_tokens / 1e6;
  }
  return out;
}

}  // namespace

std::string search_json(const SearchRequest& request, const SearchAnswer& answer) {
  ordered_json out = {{"question", ordered_json::parse(question_json(request))},
                      {"model", request.base.model.name},
                      {"plans_considered", answer.considered},
                      {"plans_fitting", answer.fitting},
                      {"plans_out_of_memory", answer.out_of_memory},
                      {"plans_cut_by_bound", answer.cut_by_bound},
                      {"plans_over_budget", answer.over_budget},
                      {"plans_predicted", answer.predicted},
                      {"plans_per_s_per_core", answer.plans_per_s_per_core()},
                      {"threads", answer.threads},
                      {"seconds", answer.seconds},
                      {"processor_seconds", answer.processor_seconds},
                      {"best", nullptr}};
  if (!answer.top.empty()) out["best"] = found_json(answer.top.front());
  out["top"] = list_json(answer.top);
  out["runner_up"] = runner_up_text(answer, request.objective);
  out["pareto"] = list_json(answer.pareto);
  out["pareto_cost"] = list_json(answer.pareto_cost);
  out["training"] = training_json(request, answer);
  out["warnings"] = answer.warnings;
  return json_text(out, 2);
}

}  // namespace foreshard::simulator
