// Two compared histories as JSON and as text.
#include <nlohmann/json.hpp>

#include "models/base/figures.hpp"
#include "models/base/json_text.hpp"
#include "profiler/replay/history_comparison.hpp"
#include "profiler/replay/memory_growth_json.hpp"
#include "profiler/report/format.hpp"

namespace foreshard::profiler {
namespace {

using nlohmann::ordered_json;
using traces::AllocatorAction;

constexpr std::size_t kRequestWidth = 30, kOperatorWidth = 14, kShownSurplus = 10;

std::string counted(std::size_t n) {
  return with_thousands(static_cast<std::int64_t>(n));
}

std::string_view name(AllocatorAction action) {
  return traces::kAllocatorActions[static_cast<std::size_t>(action)];
}

ordered_json event_json(const std::optional<ComparedEvent>& event) {
  if (!event) return nullptr;
  return {{"event", event->event},
          {"action", name(event->action)},
          {"bytes", event->bytes},
          {"stream", event->stream},
          {"step", event->step < 0 ? ordered_json() : ordered_json(event->step)},
          {"phase", event->phase},
          {"module", event->module},
          {"call", event->call},
          {"operator", event->op},
          {"category", event->category}};
}

ordered_json pair_json(const EventPair& pair) {
  return {{"baseline", event_json(pair.baseline)}, {"candidate", event_json(pair.candidate)}};
}

ordered_json pair_json(const std::optional<EventPair>& pair) {
  return pair ? pair_json(*pair) : ordered_json();
}

ordered_json side_json(const HistorySide& side) {
  return {{"file", side.file},
          {"events", side.events},
          {"compared", side.compared},
          {"first_event", side.first},
          {"peak_allocated_bytes",
           side.peak_allocated ? ordered_json(*side.peak_allocated) : ordered_json()},
          {"peak_reserved_bytes", side.peak_reserved}};
}

// "+4,608" of a request, "-4,608" of a free, "!4,608" of a request that failed.
std::string signed_bytes(const ComparedEvent& event) {
  const char* sign = event.action == AllocatorAction::alloc            ? "+"
                     : event.action == AllocatorAction::free_requested ? "-"
                                                                       : "!";
  return sign + with_thousands(event.bytes);
}

void add_cells(std::vector<std::string>& row, const std::optional<ComparedEvent>& event) {
  if (!event) return row.resize(row.size() + 3);
  // Ends of names tell them apart.
  const std::string& name = event->op.empty() ? event->category : event->op;
  const std::string what = truncate(name, kOperatorWidth, kOperatorWidth - 1);
  const std::size_t room = kRequestWidth - width(what) - 1;
  const std::string module = truncate(event->module, room, room - 1);
  row.push_back(counted(event->event));
  row.push_back(signed_bytes(*event));
  row.push_back(what + (what.empty() || module.empty() ? "" : " ") + module);
}

void add_row(TextTable& table, const std::string& mark, const EventPair& pair) {
  std::vector<std::string> row = {mark};
  add_cells(row, pair.baseline);
  add_cells(row, pair.candidate);
  table.add(std::move(row));
}

std::string described(const ComparedEvent& event) {
  std::string text = "event " + counted(event.event) + ", " + std::string(name(event.action)) +
                     " of " + with_thousands(event.bytes) + " B on stream " + event.stream;
  const auto add = [&](const std::string& what) {
    if (!what.empty()) text += ", " + what;
  };
  if (event.step >= 0) add("step " + std::to_string(event.step));
  for (const std::string* label :
       {&event.phase, &event.module, &event.call, &event.op, &event.category}) {
    add(*label);
  }
  return text;
}

std::string first_sentence(const HistoryComparison& c) {
  const std::size_t baseline_left = c.baseline.compared - c.equal;
  const std::size_t candidate_left = c.candidate.compared - c.equal;
  const std::string equal = counted(c.equal);
  if (c.first_difference) {
    return (c.equal == 0 ? "The first requests differ"
                         : "The first " + equal + " requests and frees are equal") +
           ", of " + counted(c.baseline.compared) + " in the baseline and " +
           counted(c.candidate.compared) + " in the candidate.";
  }
  if (baseline_left + candidate_left == 0) {
    return "All " + equal + " requests and frees are equal.";
  }
  const bool is_baseline = baseline_left > 0;
  return "All " + equal + " requests and frees of the " + (is_baseline ? "candidate" : "baseline") +
         " are equal to those of the " + (is_baseline ? "baseline" : "candidate") + ", which has " +
         counted(baseline_left + candidate_left) + " more.";
}

std::string aligned_sentence(const HistoryComparison& c) {
  if (!c.aligned_at->baseline || !c.aligned_at->candidate) return "They have nothing in common.";
  const ComparedEvent &a = *c.aligned_at->baseline, &b = *c.aligned_at->candidate;
  const auto place = [](const ComparedEvent& event) {
    return event.step < 0 ? "" : " (step " + std::to_string(event.step) + ", " + event.phase + ")";
  };
  return "They start from different states, and are compared from the longest run on that both "
         "have: event " +
         counted(a.event) + " of the baseline" + place(a) + " is event " + counted(b.event) +
         " of the candidate" + place(b) + ".";
}

std::string peaks_sentence(const HistoryComparison& c) {
  const auto allocated = [](const HistorySide& side) {
    return side.peak_allocated ? with_thousands(*side.peak_allocated) + " B" : "unknown";
  };
  return "Peak allocated: " + allocated(c.baseline) + " in the baseline, " +
         allocated(c.candidate) +
         " in the candidate; peak reserved: " + with_thousands(c.baseline.peak_reserved) +
         " B and " + with_thousands(c.candidate.peak_reserved) + " B.";
}

std::string pair_text(const std::string& heading, const EventPair& pair) {
  std::string text = "\n" + heading + "\n";
  if (pair.baseline) text += wrap("  baseline:  " + described(*pair.baseline), 4);
  if (pair.candidate) text += wrap("  candidate: " + described(*pair.candidate), 4);
  return text;
}

std::string surroundings(const HistoryComparison& c) {
  TextTable table({"", "event", "bytes", "baseline", "event", "bytes", "candidate"}, {0, 3, 6});
  for (const EventPair& pair : c.before) add_row(table, "", pair);
  if (c.first_difference) add_row(table, ">", *c.first_difference);
  for (const EventPair& pair : c.after) add_row(table, "", pair);
  return table.rows() == 0 ? "" : "\n" + table.text();
}

std::string surplus(const HistoryComparison& c) {
  TextTable table({"requests", "bytes", "more in", "operator", "module"}, {2, 3, 4});
  for (const RequestSurplus& group : c.surplus) {
    if (table.rows() == kShownSurplus) break;
    table.add({with_thousands(group.count), with_thousands(group.bytes),
               group.is_of_candidate ? "candidate" : "baseline", group.op, group.module});
  }
  return table.rows() == 0 ? "" : "\n" + table.text();
}

}  // namespace

std::string to_json(const HistoryComparison& c) {
  ordered_json json = {
      {"identical", c.is_identical()},         {"events_equal", c.equal},
      {"baseline", side_json(c.baseline)},     {"candidate", side_json(c.candidate)},
      {"aligned_at", pair_json(c.aligned_at)}, {"first_difference", pair_json(c.first_difference)}};
  for (const auto& [key, pairs] : {std::pair("before", &c.before), std::pair("after", &c.after)}) {
    json[key] = ordered_json::array();
    for (const EventPair& pair : *pairs) json[key].push_back(pair_json(pair));
  }
  json["frees_of_other_requests"] = c.frees_of_other_requests;
  json["first_free_of_other_request"] = pair_json(c.first_free_of_other_request);
  json["streams"] = ordered_json::array();
  for (const auto& [baseline, candidate] : c.streams) {
    json["streams"].push_back({{"baseline", baseline}, {"candidate", candidate}});
  }
  json["surplus"] = ordered_json::array();
  for (const RequestSurplus& group : c.surplus) {
    json["surplus"].push_back({{"in", group.is_of_candidate ? "candidate" : "baseline"},
                               {"bytes", group.bytes},
                               {"count", group.count},
                               {"operator", group.op},
                               {"module", group.module}});
  }
  json["growth"] = c.growth ? growth_json(*c.growth) : ordered_json();
  return json_text(json, 2);
}

std::string report_text(const HistoryComparison& c) {
  std::string text = wrap(first_sentence(c), 2);
  if (c.aligned_at) text += wrap(aligned_sentence(c), 2);
  text += wrap(peaks_sentence(c), 2);
  if (c.first_difference) text += pair_text("First difference:", *c.first_difference);
  text += surroundings(c);
  if (c.first_free_of_other_request) {
    text += pair_text(
        "First of " + plural(static_cast<std::int64_t>(c.frees_of_other_requests), "equal free") +
            " of different requests:",
        *c.first_free_of_other_request);
  }
  text += surplus(c);
  return c.growth ? text + "\n" + report_text(*c.growth) : text;
}

}  // namespace foreshard::profiler
