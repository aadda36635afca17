#include "cli/search_text.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "models/base/figures.hpp"
#include "models/question/question_text.hpp"
#include "profiler/report/format.hpp"
#include "simulator/search/search_report.hpp"

namespace foreshard::cli {
namespace {

using simulator::FoundPlan;
using simulator::SearchAnswer;
using simulator::SearchRequest;

// Indented lines, none of which ends within a value.
std::string values_of(const FoundPlan& plan, const std::set<std::string>& keys) {
  const std::string indent(6, ' ');
  std::string text, line = indent;
  for (const std::string& key : keys) {
    const std::string value = key + " = " + plan.values.at(key);
    if (line != indent && line.size() + 2 + value.size() > profiler::report_width()) {
      text += line + ",\n";
      line = indent;
    }
    line += (line == indent ? "" : ", ") + value;
  }
  return line == indent ? text : text + line + "\n";
}

std::string usd(std::optional<double> amount) {
  return amount ? formatted("%.3f", *amount) : "-";
}

// Half the width of the band, which the step time and the cost have alike.
std::string band(const FoundPlan& plan) {
  if (plan.step_time_low.count() <= 0) return "-";
  const double ratio = static_cast<double>(plan.step_time_high.count()) /
                       static_cast<double>(plan.step_time_low.count());
  return formatted("±%.0f %%", 100 * (std::sqrt(ratio) - 1));
}

// Below each plan the keys in which the plans differ.
std::string table(const std::vector<FoundPlan>& plans) {
  const std::set<std::string> keys = simulator::keys_that_differ(plans);
  profiler::TextTable table({"on", "step", "90 %", "tokens/s", "reserved", "$/M tokens"}, {0});
  for (const FoundPlan& plan : plans) {
    table.add({simulator::target_name(plan.target), duration(plan.step_time.count()), band(plan),
               formatted("%.0f", plan.tokens_per_s), binary_bytes(plan.peak_reserved),
               usd(plan.usd_per_million_tokens)});
  }
  std::istringstream lines(table.text());
  std::string text, line;
  std::getline(lines, line);
  text += line + "\n";
  for (const FoundPlan& plan : plans) {
    std::getline(lines, line);
    text += line + "\n" + values_of(plan, keys);
  }
  return text;
}

// Of every instance whose price counts in these lists.
std::string prices(const SearchAnswer& answer) {
  std::vector<std::string> texts;
  for (const auto* plans : {&answer.top, &answer.pareto, &answer.pareto_cost}) {
    for (const FoundPlan& plan : *plans) {
      const simulator::Rent& rent = plan.target.rent;
      if (rent.kind.empty()) continue;
      std::string text = rent.instance +
                         formatted(" at $%.2f an hour (",
                                   rent.usd_per_hour / static_cast<double>(rent.instances)) +
                         rent.kind + (rent.region.empty() ? "" : " " + rent.region) + ", " +
                         rent.date + "; " + rent.source + ")";
      if (std::find(texts.begin(), texts.end(), text) == texts.end())
        texts.push_back(std::move(text));
    }
  }
  if (texts.empty()) return "";
  return "\n" + profiler::wrap("Prices, of whole instances: " + profiler::join(texts, "; ") + ".");
}

std::string counts(const SearchAnswer& answer) {
  const auto number = [](std::size_t n) { return with_thousands(static_cast<std::int64_t>(n)); };
  return profiler::wrap(
             number(answer.considered) + (answer.considered == 1 ? " plan" : " plans") +
             formatted(" considered in %.2f s: ", answer.seconds) + number(answer.fitting) +
             " within memory, " + number(answer.out_of_memory) + " out of memory, " +
             number(answer.cut_by_bound) +
             " proven to be worse than others before their memory was known" +
             (answer.over_budget > 0 ? "; " + number(answer.over_budget) + " over budget" : "") +
             (answer.too_late > 0 ? "; " + number(answer.too_late) + " too late" : "") + ".") +
         formatted("%.0f plans predicted a second and core.\n", answer.plans_per_s_per_core());
}

// With the band of the step time.
std::string cost(const FoundPlan& plan) {
  if (!plan.usd_per_million_tokens) return "";
  return ", $" + usd(plan.usd_per_million_tokens) + " for a million tokens (90 %: $" +
         usd(plan.usd_per_million_tokens_at(plan.step_time_low)) + " to $" +
         usd(plan.usd_per_million_tokens_at(plan.step_time_high)) + ")";
}

std::string span_text(double seconds) {
  if (seconds < 120) return formatted("%.3g s", seconds);
  if (seconds < 2 * 3600) return formatted("%.1f min", seconds / 60);
  return seconds < 48 * 3600 ? formatted("%.1f h", seconds / 3600)
                             : formatted("%.1f days", seconds / 86400);
}

// The whole training by a plan, with the band of its step time.
std::string training(const SearchRequest& request, const FoundPlan& plan) {
  if (!request.training) return "";
  const auto at = [&](Nanoseconds step) { return plan.training_cost_at(*request.training, step); };
  const auto cost = at(plan.step_time), low = at(plan.step_time_low),
             high = at(plan.step_time_high);
  std::string text = formatted("Training on %.4g tokens takes it %s (90 %%: %s to %s)",
                               request.training->tokens, span_text(cost.seconds).c_str(),
                               span_text(low.seconds).c_str(), span_text(high.seconds).c_str());
  if (cost.usd) text += formatted(" and $%.0f ($%.0f to $%.0f)", *cost.usd, *low.usd, *high.usd);
  if (!plan.reliability)
    return profiler::wrap(text + "; checkpoints and failures are not counted.");
  const simulator::Reliability& run = *plan.reliability;
  return profiler::wrap(
      text +
      formatted("; %.1f %% of the time is training that is kept, with checkpoints of %s every "
                "%s and a failure every %s, after which %s are lost until it goes on.",
                100 * goodput(run), span_text(run.save).c_str(),
                span_text(checkpoint_interval(run)).c_str(),
                span_text(run.between_failures).c_str(), span_text(run.restart).c_str()));
}

// Which plan keeps the limits even where steps take as long as the band allows.
std::string sure(const SearchRequest& request, const SearchAnswer& answer) {
  if (!request.training || !request.training->has_limits()) return "";
  if (!answer.best_sure) {
    return profiler::wrap("At the long end of its 90 % band no plan keeps the limits.");
  }
  const FoundPlan &best = answer.top.front(), &plan = *answer.best_sure;
  const bool is_best = best.plan == plan.plan &&
                       simulator::target_name(best.target) == simulator::target_name(plan.target);
  if (is_best) return profiler::wrap("It keeps the limits even at the long end of its 90 % band.");
  std::string text =
      "The best plan that keeps the limits even at the long end of its 90 % band is on " +
      simulator::target_name(plan.target) + ": " + duration(plan.step_time.count()) +
      formatted(" a step, %.0f tokens/s", plan.tokens_per_s) + cost(plan);
  for (const simulator::PlanDifference& difference : simulator::differences(best, plan)) {
    text += ", " + difference.key + " = " + difference.other;
  }
  return profiler::wrap(text + ".") + training(request, plan);
}

// The question of the first target, and how many others there are.
std::string asked(const SearchRequest& request) {
  const simulator::SearchTarget& first = request.targets.front();
  std::string text =
      question_line(simulator::question_on(request, first, request.base.plan)) + "\n";
  std::string others;
  for (std::size_t t = 1; t < request.targets.size(); ++t) {
    others += (others.empty() ? "" : ", ") + simulator::target_name(request.targets[t]);
  }
  if (!others.empty()) text += profiler::wrap("The same on " + others + ".");
  std::string keys;
  for (const PlanAxis& axis : request.space) keys += (keys.empty() ? "" : ", ") + axis.name;
  if (!keys.empty()) text += profiler::wrap("What varies: " + keys + ".");
  if (!request.assumed.empty()) {
    text += profiler::wrap("assumed: " + profiler::join(request.assumed, "; ") + ".");
  }
  return text;
}

}  // namespace

std::string search_text(const SearchRequest& request, const SearchAnswer& answer) {
  if (answer.top.empty()) {
    return asked(request) + counts(answer) +
           (answer.over_budget + answer.too_late > 0
                ? "No plan that fits keeps budget and deadline.\n"
            : answer.fitting > 0 ? "The step times are unknown.\n"
                                 : "No plan fits.\n");
  }
  const FoundPlan& best = answer.top.front();
  std::string text = asked(request) + counts(answer);
  text +=
      "\n" +
      profiler::wrap(formatted(
          "The best plan for %s is on %s: a step takes %s (90 %%: %s to %s), %.0f tokens/s, "
          "%s reserved%s.",
          request.base.model.name.c_str(), simulator::target_name(best.target).c_str(),
          duration(best.step_time.count()).c_str(), duration(best.step_time_low.count()).c_str(),
          duration(best.step_time_high.count()).c_str(), best.tokens_per_s,
          binary_bytes(best.peak_reserved).c_str(), cost(best).c_str()));
  for (const auto& [key, value] : best.values) text += "  " + key + " = " + value + "\n";
  text += training(request, best) + sure(request, answer);
  const std::string runner_up = simulator::runner_up_text(answer, request.objective);
  if (!runner_up.empty()) text += profiler::wrap(runner_up);
  text += "\nBest plans:\n" + table(answer.top);
  text += "\nMost tokens/s for the memory:\n" + table(answer.pareto);
  if (!answer.pareto_cost.empty()) {
    text += "\nMost tokens/s for the money:\n" + table(answer.pareto_cost);
  }
  return text + prices(answer);
}

}  // namespace foreshard::cli
