// conversion_report: tables of what became what, and reasons.
#include <algorithm>
#include <map>

#include "models/base/figures.hpp"
#include "models/plan/foreign/foreign_plans.hpp"

namespace foreshard {
namespace {

std::string with_value(const std::string& key, const std::string& value) {
  return value.empty() ? key : key + " = " + value;
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string of_plan(const CarriedKey& carried) {
  std::vector<std::string> keys;
  for (const SpeltKey& key : carried.plan) keys.push_back(with_value(key.name, key.value));
  return listed(keys);
}

// Lines of at most 100 columns, each after the first indented by `indent`.
std::string wrapped(const std::string& text, std::size_t indent) {
  constexpr std::size_t kColumns = 100;
  std::string lines(indent, ' '), word;
  std::size_t column = indent;
  bool is_first = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t length = end - at;
    if (!is_first && column + 1 + length > kColumns) {
      lines += "\n" + std::string(indent + 2, ' ');
      column = indent + 2;
    } else if (!is_first) {
      lines += ' ';
      ++column;
    }
    lines.append(text, at, length);
    column += length;
    at = end + 1;
    is_first = false;
  }
  return lines + "\n";
}

void add_section(std::string& report, const std::string& title, const std::string& lines) {
  if (!lines.empty()) report += "\n" + title + ":\n" + lines;
}

std::string carried_lines(const ConvertedPlan& converted,
                          bool (*belongs)(const CarriedKey& carried)) {
  std::string lines;
  for (const CarriedKey& carried : converted.carried) {
    if (!belongs(carried)) continue;
    std::string line = with_value(carried.key, carried.value);
    if (!carried.plan.empty()) line += (line.empty() ? "" : " -> ") + of_plan(carried);
    if (!carried.note.empty()) line += (line.empty() ? "" : ": ") + carried.note;
    lines += wrapped(line, 2);
  }
  return lines;
}

// Keys dropped for the same reason share a sentence.
std::vector<std::string> dropped_sentences(const ConvertedPlan& converted) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const DroppedKey& dropped : converted.dropped) {
    auto at = std::find_if(by_reason.begin(), by_reason.end(),
                           [&](const auto& reason) { return reason.first == dropped.why; });
    if (at == by_reason.end()) at = by_reason.insert(at, {dropped.why, {}});
    at->second.push_back(with_value(dropped.key, dropped.value));
  }
  std::vector<std::string> sentences;
  for (const auto& [why, keys] : by_reason) sentences.push_back(listed(keys) + ": " + why);
  return sentences;
}

std::string dropped_lines(const ConvertedPlan& converted) {
  std::string lines;
  for (const std::string& sentence : dropped_sentences(converted)) lines += wrapped(sentence, 2);
  return lines;
}

std::string unsaid_line(const ConvertedPlan& converted) {
  std::vector<std::string> keys;
  const std::vector<SpeltKey> spelt = spelt_keys(converted.plan);
  for (const std::string& name : converted.unsaid) {
    const auto found = std::find_if(spelt.begin(), spelt.end(),
                                    [&](const SpeltKey& key) { return key.name == name; });
    if (found != spelt.end()) keys.push_back(with_value(found->name, found->value));
  }
  return keys.empty() ? "" : wrapped(listed(keys), 2);
}

std::string facts_line(const NamedFacts& facts) {
  std::vector<std::string> words;
  if (!facts.model.empty()) words.push_back("model " + facts.model);
  if (facts.ranks) words.push_back(plural(*facts.ranks, "rank") + " (--ranks)");
  if (facts.nodes) words.push_back(plural(*facts.nodes, "node") + " (--nodes)");
  if (facts.steps) words.push_back(plural(*facts.steps, "step") + " (--steps)");
  if (facts.sequences_per_step) {
    words.push_back(plural(*facts.sequences_per_step, "sequence") + " a step, of all ranks");
  }
  return words.empty() ? "" : wrapped(listed(words), 2);
}

}  // namespace

std::string conversion_report(const ConvertedPlan& converted) {
  if (!converted.is_foreign()) return "A plan: nothing to convert.\n";
  std::string report = converted.origin + "\n";
  add_section(report, "Carried over", carried_lines(converted, [](const CarriedKey& carried) {
                return !carried.value.empty();
              }));
  add_section(report, "Not in the file, so the tool's own defaults",
              carried_lines(converted, [](const CarriedKey& carried) {
                return carried.value.empty() && !carried.key.empty();
              }));
  add_section(report, "What the tool does in any case",
              carried_lines(converted, [](const CarriedKey& carried) {
                return carried.value.empty() && carried.key.empty();
              }));
  add_section(report, "Not carried over", dropped_lines(converted));
  add_section(report, "Left to the plan's own defaults", unsaid_line(converted));
  add_section(report, "Named in the file, but no part of a plan", facts_line(converted.facts));
  add_section(report, "No effect on memory or time",
              converted.without_effect.empty() ? "" : wrapped(listed(converted.without_effect), 2));
  return report;
}

std::string conversion_origin(const ConvertedPlan& converted) {
  const bool is_vowel = std::string_view("Aa").find(converted.origin.front()) != std::string::npos;
  return (is_vowel ? "read as an " : "read as a ") + converted.origin;
}

std::vector<std::string> conversion_warnings(const ConvertedPlan& converted) {
  std::vector<std::string> warnings = dropped_sentences(converted);
  for (std::string& warning : warnings) warning = converted.name + ": not carried over: " + warning;
  return warnings;
}

}  // namespace foreshard
