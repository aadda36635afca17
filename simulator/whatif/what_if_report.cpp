// The answer to a what-if question as people and other programs read it.
#include <nlohmann/json.hpp>

#include "models/base/figures.hpp"
#include "models/base/json_text.hpp"
#include "simulator/whatif/what_if.hpp"

namespace foreshard::simulator {
namespace {

using nlohmann::ordered_json;

ordered_json or_null(const std::optional<std::int64_t>& ns) {
  return ns ? ordered_json(*ns) : ordered_json();
}

double share(std::int64_t ns, std::int64_t span) {
  return span > 0 ? static_cast<double>(ns) / static_cast<double>(span) : 0;
}

std::string change_text(const char* what, std::int64_t recorded, std::int64_t predicted) {
  return formatted(
      "%s: %s recorded, %s predicted (%s).\n", what, duration(recorded).c_str(),
      duration(predicted).c_str(),
      signed_percent(static_cast<double>(predicted - recorded), static_cast<double>(recorded))
          .c_str());
}

}  // namespace

std::string what_if_json(const WhatIfAnswer& answer) {
  const bool is_answered = answer.asked.has_value();
  ordered_json out = {{"question", ordered_json::parse(answer.question)},
                      {"recorded_step_time_ns", or_null(answer.recorded.step_ns)},
                      {"replayed_step_time_ns", or_null(answer.replayed.step_ns)},
                      {"step_time_ns", is_answered ? or_null(answer.asked->step_ns) : nullptr},
                      {"recorded_span_ns", answer.recorded.span_ns},
                      {"replayed_span_ns", answer.replayed.span_ns},
                      {"span_ns", is_answered ? ordered_json(answer.asked->span_ns) : nullptr},
                      {"critical_path", ordered_json::array()},
                      {"slack", ordered_json::array()},
                      {"unmatched_events", answer.unmatched_events},
                      {"unexplained_ns", answer.unexplained_ns},
                      {"refusal", nullptr},
                      {"assumptions", answer.assumptions}};
  if (!answer.refusal.empty()) out["refusal"] = answer.refusal;
  for (const PathPart& part : answer.critical_path) {
    out["critical_path"].push_back({{"name", part.name},
                                    {"kind", part.kind},
                                    {"count", part.count},
                                    {"share", share(part.ns, answer.asked->span_ns)}});
  }
  for (const Slack& slack : answer.slack) {
    out["slack"].push_back({{"name", slack.name}, {"slack_ns", slack.ns}});
  }
  return json_text(out, 2);
}

std::string what_if_text(const WhatIfAnswer& answer) {
  std::string text = answer.question_line + "\n";
  if (!answer.asked) {
    return text + "No prediction from this recording: " + answer.refusal + ".\n";
  }
  constexpr std::size_t kShownParts = 12, kShownSlack = 5;
  if (answer.recorded.step_ns && answer.asked->step_ns) {
    text += change_text("Step", *answer.recorded.step_ns, *answer.asked->step_ns);
  }
  text += change_text("Span", answer.recorded.span_ns, answer.asked->span_ns);
  text +=
      formatted("Replayed unchanged, the span is %s.\n", duration(answer.replayed.span_ns).c_str());
  for (const std::string& assumption : answer.assumptions) text += assumption + "\n";
  if (answer.unmatched_events > 0) {
    text += "Without their launch in the recording: " + plural(answer.unmatched_events, "piece") +
            " of work.\n";
  }
  if (answer.unexplained_ns > 0) {
    text += "No change shortens " + duration(answer.unexplained_ns) +
            ": the recording does not show why work of the device began no sooner.\n";
  }
  text += "\nCritical path of the span:\n";
  for (std::size_t i = 0; i < std::min(kShownParts, answer.critical_path.size()); ++i) {
    const PathPart& part = answer.critical_path[i];
    text += formatted("%8s  %9s  %s\n", percent(part.ns, answer.asked->span_ns).c_str(),
                      duration(part.ns).c_str(), part.name.c_str());
  }
  std::string slack;
  std::size_t shown = 0;
  for (const Slack& its : answer.slack) {
    if (its.ns == 0 || shown == kShownSlack) continue;
    ++shown;
    slack += formatted("%18s  %s\n", duration(its.ns).c_str(), its.name.c_str());
  }
  if (shown > 0) text += "\nLeast slack off the critical path:\n" + slack;
  return text;
}

}  // namespace foreshard::simulator
