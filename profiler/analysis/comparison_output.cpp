#include <nlohmann/json.hpp>

#include "profiler/analysis/comparison.hpp"
#include "profiler/analysis/format.hpp"
#include "profiler/analysis/short_names.hpp"

namespace foreshard::profiler {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kOperatorsShown = 10;

std::string signed_percent(std::int64_t predicted, std::int64_t measured) {
  const std::string text =
      percent(static_cast<double>(predicted - measured), static_cast<double>(measured));
  return predicted > measured && measured != 0 ? "+" + text : text;
}

std::string memory_sentence(const Comparison& c) {
  if (c.ranks.empty()) return "No rank's memory can be compared.";
  if (c.peak_allocated_error_bytes == 0 && c.peak_reserved_error_bytes == 0) {
    return "Peak memory is equal to the byte, allocated and reserved, on all " +
           std::to_string(c.ranks.size()) + " ranks.";
  }
  return "Peak memory is off by " + std::to_string(c.peak_allocated_error_bytes) +
         " bytes allocated and " + std::to_string(c.peak_reserved_error_bytes) +
         " bytes reserved on the worst rank.";
}

std::string changes_table(const Comparison& c, const std::string& first,
                          const std::string& second) {
  TextTable table({"operators that changed most", "", "count", "count", first, second});
  for (const OperatorChange& one : c.changes) {
    if (table.rows() == kOperatorsShown || one.what() == "same") break;
    table.add({short_name(one.name), std::string(one.what()), fixed(one.measured_count, 1),
               fixed(one.predicted_count, 1), milliseconds(one.measured_ns),
               milliseconds(one.predicted_ns)});
  }
  return table.rows() == 0 ? "" : "\n" + table.text();
}

}  // namespace

std::string to_json(const Comparison& c) {
  Json json{{"step_time_error", c.step_time_error < 0 ? Json() : Json(c.step_time_error)},
            {"measured_step_time_ns", c.measured_step_ns},
            {"predicted_step_time_ns", c.predicted_step_ns},
            {"peak_allocated_error_bytes", c.peak_allocated_error_bytes},
            {"peak_reserved_error_bytes", c.peak_reserved_error_bytes}};
  json["by_category"] = Json::array();
  for (const CategoryDifference& one : c.by_category) {
    json["by_category"].push_back({{"category", one.category},
                                   {"measured_ns", one.measured_ns},
                                   {"predicted_ns", one.predicted_ns}});
  }
  json["events_matched"] = c.events_matched;
  json["events_unmatched"] = c.events_unmatched;
  json["same_program"] = c.same_program;
  json["ranks_memory"] = Json::array();
  for (const RankMemoryDifference& one : c.ranks) {
    json["ranks_memory"].push_back(
        {{"rank", one.rank},
         {"measured_peak_allocated_bytes", one.measured_allocated_bytes},
         {"predicted_peak_allocated_bytes", one.predicted_allocated_bytes},
         {"measured_peak_reserved_bytes", one.measured_reserved_bytes},
         {"predicted_peak_reserved_bytes", one.predicted_reserved_bytes}});
  }
  json["operators"] = Json::array();
  for (const OperatorDifference& one : c.operators) {
    json["operators"].push_back({{"name", one.name},
                                 {"category", one.category},
                                 {"events", one.events},
                                 {"measured_ns", one.measured_ns},
                                 {"predicted_ns", one.predicted_ns}});
  }
  json["changes"] = Json::array();
  for (const OperatorChange& one : c.changes) {
    json["changes"].push_back({{"name", one.name},
                               {"category", one.category},
                               {"change", one.what()},
                               {"measured_count", one.measured_count},
                               {"predicted_count", one.predicted_count},
                               {"measured_ns", one.measured_ns},
                               {"predicted_ns", one.predicted_ns}});
  }
  json["warnings"] = c.warnings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string report_text(const Comparison& c) {
  std::string text = c.step_time_error < 0
                         ? "Step times cannot be compared: one of the traces has no steps.\n"
                         : std::string(c.has_prediction ? "Predicted " : "The second takes ") +
                               milliseconds(c.predicted_step_ns) + " a step, " +
                               (c.has_prediction ? "measured " : "the first ") +
                               milliseconds(c.measured_step_ns) + ": " +
                               signed_percent(c.predicted_step_ns, c.measured_step_ns) + ".\n";
  text += memory_sentence(c) + "\n";
  text += std::to_string(c.events_matched) + " events of a steady step match, " +
          std::to_string(c.events_unmatched) + " have no counterpart" +
          (c.same_program ? "; both traces are of the same program.\n" : ".\n");
  for (const std::string& warning : c.warnings) text += "warning: " + warning + "\n";

  const std::string first = c.has_prediction ? "measured" : "first",
                    second = c.has_prediction ? "predicted" : "second";
  TextTable times({"a steady step", first, second, "difference"});
  for (const CategoryDifference& one : c.by_category) {
    times.add({one.category, milliseconds(one.measured_ns), milliseconds(one.predicted_ns),
               signed_percent(one.predicted_ns, one.measured_ns)});
  }
  text += "\n" + times.text();
  if (c.operators.empty()) return text + changes_table(c, first, second);

  TextTable operators({"operators that differ most", "events", first, second, "difference"});
  for (std::size_t i = 0; i < std::min(kOperatorsShown, c.operators.size()); ++i) {
    const OperatorDifference& one = c.operators[i];
    operators.add({one.name, std::to_string(one.events), milliseconds(one.measured_ns),
                   milliseconds(one.predicted_ns),
                   signed_percent(one.predicted_ns, one.measured_ns)});
  }
  return text + "\n" + operators.text();
}

}  // namespace foreshard::profiler
