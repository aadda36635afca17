#include "models/base/figures.hpp"
#include "simulator/search/search_report.hpp"

namespace foreshard::simulator {
namespace {

std::string quoted(const std::string& field) {
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

void add_rows(std::string& text, const char* list, const std::vector<FoundPlan>& plans) {
  for (std::size_t n = 0; n < plans.size(); ++n) {
    const FoundPlan& plan = plans[n];
    text += formatted("%s,%zu,%s,%d,%d,%lld,%lld,%lld,%.17g,%lld,", list, n + 1,
                      plan.target.machine == nullptr ? "" : quoted(plan.target.machine->id).c_str(),
                      plan.target.gpus, node_count(plan.target),
                      static_cast<long long>(plan.step_time.count()),
                      static_cast<long long>(plan.step_time_low.count()),
                      static_cast<long long>(plan.step_time_high.count()), plan.tokens_per_s,
                      static_cast<long long>(plan.peak_reserved));
    if (plan.usd_per_million_tokens) text += formatted("%.17g", *plan.usd_per_million_tokens);
    text += ",";
    const Rent& rent = plan.target.rent;
    if (rent.usd_per_hour > 0) text += formatted("%.17g", rent.usd_per_hour);
    text += "," + quoted(rent.kind);
    for (const auto& [key, value] : plan.values) text += "," + quoted(value);
    text += "\n";
  }
}

}  // namespace

std::string search_csv(const SearchAnswer& answer) {
  std::string text =
      "list,place,machine,gpus,nodes,step_time_ns,step_time_low_ns,step_time_high_ns,"
      "tokens_per_s,peak_reserved_bytes,cost_per_million_tokens,usd_per_hour,price_kind";
  if (!answer.top.empty()) {
    for (const auto& [key, value] : answer.top.front().values) text += "," + quoted(key);
  }
  text += "\n";
  add_rows(text, "top", answer.top);
  add_rows(text, "pareto", answer.pareto);
  add_rows(text, "pareto_cost", answer.pareto_cost);
  return text;
}

}  // namespace foreshard::simulator
