#include "profiler/report/comparison_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/base/json_text.hpp"
#include "profiler/report/format.hpp"
#include "profiler/report/report_notes.hpp"
#include "profiler/report/short_names.hpp"

namespace foreshard::profiler {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kOperatorsShown = 10, kChangeWidth = 40;

std::string relative_change(std::int64_t after, std::int64_t before) {
  return signed_percent(static_cast<double>(after - before), static_cast<double>(before));
}

std::string signed_milliseconds(std::int64_t ns) {
  return (ns > 0 ? "+" : "") + in_milliseconds(ns);
}

std::string signed_bytes(std::int64_t bytes) {
  return (bytes > 0 ? "+" : "") + binary_bytes(bytes);
}

std::string time_sentence(const Comparison& c) {
  if (c.step_time_error < 0)
    return "Step times cannot be compared: one of the traces has no steps.";
  const std::string change = relative_change(c.candidate_step_ns, c.baseline_step_ns);
  if (c.has_prediction) {
    return "Predicted " + duration(c.candidate_step_ns) + " per step, measured " +
           duration(c.baseline_step_ns) + ": " + change + ".";
  }
  return "A steady step takes " + duration(c.baseline_step_ns) + " in the first trace and " +
         duration(c.candidate_step_ns) + " in the second: " + change + ".";
}

// Which of compute, exposed communication, copies and idle time differs most.
std::string cause_sentence(const Comparison& c) {
  const CategoryDifference* worst = nullptr;
  const auto difference = [](const CategoryDifference& one) {
    return one.candidate_ns - one.baseline_ns;
  };
  for (const CategoryDifference& one : c.by_category) {
    if (one.category == "communication") continue;  // overlapped communication costs no time
    if (!worst || std::abs(difference(one)) > std::abs(difference(*worst))) worst = &one;
  }
  if (c.step_time_error < 0 || !worst || difference(*worst) == 0) return "";
  std::string name = worst->category;
  std::replace(name.begin(), name.end(), '_', ' ');
  if (name == "idle") name = "idle time";
  return "The largest difference is in " + name + ": " + duration(worst->baseline_ns) +
         " per step " + (c.has_prediction ? "measured, " : "in the first trace, ") +
         duration(worst->candidate_ns) + (c.has_prediction ? " predicted." : " in the second.");
}

// For the rank with the largest difference.
std::string memory_sentence(const Comparison& c) {
  const RankMemoryDifference* worst = nullptr;
  bool first_has_memory = false, second_has_memory = false;
  for (const RankMemoryDifference& one : c.ranks) {
    const auto difference = [](const RankMemoryDifference& rank) {
      return std::pair(std::abs(rank.candidate_allocated_bytes - rank.baseline_allocated_bytes),
                       std::abs(rank.candidate_reserved_bytes - rank.baseline_reserved_bytes));
    };
    if (!worst || difference(one) > difference(*worst)) worst = &one;
    first_has_memory = first_has_memory || one.baseline_allocated_bytes > 0;
    second_has_memory = second_has_memory || one.candidate_allocated_bytes > 0;
  }
  if (!worst) return "Memory cannot be compared: the traces have no rank in common.";
  if (!first_has_memory && !second_has_memory) return "";
  if (first_has_memory != second_has_memory) {
    return std::string("Memory cannot be compared: the ") +
           (first_has_memory ? "second" : "first") + " trace has no memory events.";
  }
  if (c.peak_allocated_error_bytes == 0 && c.peak_reserved_error_bytes == 0) {
    return "Peak memory is identical to the byte, allocated and reserved" +
           std::string(c.ranks.size() == 1
                           ? "."
                           : ", on all " + std::to_string(c.ranks.size()) + " ranks.");
  }
  if (c.has_prediction) {
    return "Peak memory is off by " + std::to_string(c.peak_allocated_error_bytes) +
           " bytes allocated and " + std::to_string(c.peak_reserved_error_bytes) +
           " bytes reserved on the worst rank.";
  }
  const auto change = [](const char* what, std::int64_t before, std::int64_t after) {
    return binary_bytes(before) + " to " + binary_bytes(after) + what + " (" +
           signed_bytes(after - before) + ")";
  };
  return "Peak memory goes from " +
         change(" allocated", worst->baseline_allocated_bytes, worst->candidate_allocated_bytes) +
         " and from " +
         change(" reserved", worst->baseline_reserved_bytes, worst->candidate_reserved_bytes) +
         (c.ranks.size() > 1 ? " on rank " + std::to_string(worst->rank) + "." : ".");
}

// The GPU with the most, beside what was predicted for any.
const GpuMemory* fullest_gpu(const Comparison& c) {
  const auto found = std::ranges::max_element(c.baseline.gpus, {}, &GpuMemory::outside);
  return found == c.baseline.gpus.end() ? nullptr : &*found;
}

std::string outside_sentence(const Comparison& c) {
  const GpuMemory* const gpu = fullest_gpu(c);
  const auto& predicted = c.candidate.predicted_outside;
  if (gpu == nullptr || !predicted) return "";
  return "Outside the allocator, " + binary_bytes(predicted->bytes) + " (" +
         binary_bytes(predicted->low_bytes) + " to " + binary_bytes(predicted->high_bytes) +
         ") were predicted; measured: " + sentence(*gpu);
}

Json outside_json(const Comparison& c) {
  Json json{{"measured_bytes", nullptr},
            {"predicted_bytes", nullptr},
            {"predicted_low_bytes", nullptr},
            {"predicted_high_bytes", nullptr}};
  if (const GpuMemory* const gpu = fullest_gpu(c)) json["measured_bytes"] = gpu->outside();
  if (const auto& predicted = c.candidate.predicted_outside) {
    json["predicted_bytes"] = predicted->bytes;
    json["predicted_low_bytes"] = predicted->low_bytes;
    json["predicted_high_bytes"] = predicted->high_bytes;
  }
  return json;
}

std::string events_sentence(const Comparison& c) {
  if (c.events_matched > 0) {
    return plural(c.events_matched, "event") + " of a steady step match, " +
           std::to_string(c.events_unmatched()) + " have no counterpart" +
           (c.same_program ? "; both traces are of the same program." : ".");
  }
  std::map<std::string_view, std::int64_t> changes;
  for (const OperatorChange& one : c.changes) ++changes[one.what()];
  if (changes.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [what, text] : {std::pair{"appeared", "only in the second trace"},
                                   {"vanished", "only in the first"},
                                   {"grew", "slower"},
                                   {"shrank", "faster"},
                                   {"same", "unchanged within 1 %"}}) {
    if (changes[what] > 0) parts.push_back(std::to_string(changes[what]) + " " + text);
  }
  return plural(static_cast<std::int64_t>(c.changes.size()), "operator") + ": " +
         join(parts, ", ") + ".";
}

std::string categories_table(const Comparison& c, const std::string& first,
                             const std::string& second) {
  TextTable table({first + " ms", second + " ms", "difference ms", "%", "per steady step"}, {4});
  for (const CategoryDifference& one : c.by_category) {
    if (c.step_time_error < 0 || (one.baseline_ns == 0 && one.candidate_ns == 0)) continue;
    table.add({in_milliseconds(one.baseline_ns), in_milliseconds(one.candidate_ns),
               signed_milliseconds(one.candidate_ns - one.baseline_ns),
               relative_change(one.candidate_ns, one.baseline_ns), one.category});
  }
  return table.rows() == 0 ? "" : "\n" + table.text();
}

std::string operators_table(const Comparison& c, const std::string& first,
                            const std::string& second) {
  const std::size_t shown = std::min(kOperatorsShown, c.operators.size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shown; ++i) names.push_back(c.operators[i].name);
  names = short_names(names);
  TextTable table({"events", first + " ms", second + " ms", "difference ms", "%",
                   "operators with the largest differences"},
                  {5});
  for (std::size_t i = 0; i < shown; ++i) {
    const OperatorDifference& one = c.operators[i];
    table.add({std::to_string(one.events), in_milliseconds(one.baseline_ns),
               in_milliseconds(one.candidate_ns),
               signed_milliseconds(one.candidate_ns - one.baseline_ns),
               relative_change(one.candidate_ns, one.baseline_ns), names[i]});
  }
  return table.rows() == 0 ? "" : "\n" + table.text();
}

std::string changes_table(const Comparison& c) {
  std::vector<const OperatorChange*> shown;
  std::vector<std::string> names;
  for (const OperatorChange& one : c.changes) {
    if (shown.size() == kOperatorsShown || one.what() == "same") break;
    shown.push_back(&one);
    names.push_back(one.name);
  }
  names = short_names(names, kChangeWidth);
  const auto count = [](double one) { return to_fixed(one, one == std::floor(one) ? 0 : 1); };
  TextTable table({"change ms", "first ms", "second ms", "count", "",
                   "operators with the largest changes per step"},
                  {4, 5});
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const OperatorChange& one = *shown[i];
    std::string counts = count(one.baseline_count);
    if (const std::string after = count(one.candidate_count); after != counts) {
      counts.append(" > ").append(after);
    }
    table.add({signed_milliseconds(one.candidate_ns - one.baseline_ns),
               in_milliseconds(one.baseline_ns), in_milliseconds(one.candidate_ns), counts,
               std::string(one.what()), names[i]});
  }
  return table.rows() == 0 ? "" : "\n" + table.text();
}

// The messages about either trace, each with the trace it is about.
std::vector<std::string> of_both(const Comparison& c,
                                 std::vector<std::string> (*messages)(const Analysis&)) {
  std::vector<std::string> all;
  for (const auto& [which, analysis] :
       {std::pair{"first: ", &c.baseline}, {"second: ", &c.candidate}}) {
    for (const std::string& sentence : messages(*analysis)) all.push_back(which + sentence);
  }
  return all;
}

std::vector<std::string> warnings(const Comparison& c) {
  std::vector<std::string> all;
  for (const std::int32_t rank : c.missing_ranks) {
    all.push_back("rank " + std::to_string(rank) + " is not in the " +
                  (c.has_prediction ? "prediction" : "second"));
  }
  for (std::string& warning : of_both(c, recording_warnings)) all.push_back(std::move(warning));
  return all;
}

}  // namespace

std::string to_json(const Comparison& c) {
  Json json{{"step_time_error", c.step_time_error < 0 ? Json() : Json(c.step_time_error)},
            {"measured_step_time_ns", c.baseline_step_ns},
            {"predicted_step_time_ns", c.candidate_step_ns},
            {"peak_allocated_error_bytes", c.peak_allocated_error_bytes},
            {"peak_reserved_error_bytes", c.peak_reserved_error_bytes}};
  json["by_category"] = Json::array();
  for (const CategoryDifference& one : c.by_category) {
    json["by_category"].push_back({{"category", one.category},
                                   {"measured_ns", one.baseline_ns},
                                   {"predicted_ns", one.candidate_ns}});
  }
  json["events_matched"] = c.events_matched;
  json["events_unmatched"] = c.events_unmatched();
  json["same_program"] = c.same_program;
  json["ranks_memory"] = Json::array();
  for (const RankMemoryDifference& one : c.ranks) {
    json["ranks_memory"].push_back(
        {{"rank", one.rank},
         {"measured_peak_allocated_bytes", one.baseline_allocated_bytes},
         {"predicted_peak_allocated_bytes", one.candidate_allocated_bytes},
         {"measured_peak_reserved_bytes", one.baseline_reserved_bytes},
         {"predicted_peak_reserved_bytes", one.candidate_reserved_bytes}});
  }
  json["outside_allocator"] = outside_json(c);
  json["operators"] = Json::array();
  for (const OperatorDifference& one : c.operators) {
    json["operators"].push_back({{"name", one.name},
                                 {"category", one.category},
                                 {"events", one.events},
                                 {"measured_ns", one.baseline_ns},
                                 {"predicted_ns", one.candidate_ns}});
  }
  json["changes"] = Json::array();
  for (const OperatorChange& one : c.changes) {
    json["changes"].push_back({{"name", one.name},
                               {"category", one.category},
                               {"change", one.what()},
                               {"measured_count", one.baseline_count},
                               {"predicted_count", one.candidate_count},
                               {"measured_ns", one.baseline_ns},
                               {"predicted_ns", one.candidate_ns}});
  }
  json["warnings"] = warnings(c);
  return json_text(json, 2);
}

std::string report_text(const Comparison& c) {
  std::string text;
  for (const std::string& alarm : of_both(c, report_alarms)) {
    text += wrap("warning: " + alarm, 9);
  }
  for (const std::string& sentence : {time_sentence(c), cause_sentence(c), memory_sentence(c),
                                      outside_sentence(c), events_sentence(c)}) {
    if (!sentence.empty()) text += wrap(sentence, 2);
  }
  const std::string first = c.has_prediction ? "measured" : "first",
                    second = c.has_prediction ? "predicted" : "second";
  text += categories_table(c, first, second);
  text += c.operators.empty() ? changes_table(c) : operators_table(c, first, second);
  std::string notes;
  for (const std::string& note : of_both(c, report_notes)) notes += wrap(note, 2);
  return notes.empty() ? text : text + "\n" + notes;
}

}  // namespace foreshard::profiler
