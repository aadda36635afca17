#include "traces/allocator/history_writer.hpp"

#include <ostream>

#include <nlohmann/json.hpp>

#include "models/base/json_text.hpp"

namespace foreshard::traces {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Action = AllocatorAction;

// As PyTorch's snapshot lists them, one number of divisions for requests of each power of two.
OrderedJson settings_json(const AllocatorRules& rules) {
  OrderedJson divisions = OrderedJson::object();
  std::int64_t mebibytes = 1;
  for (const std::int64_t of_power : rules.power2_divisions()) {
    divisions[std::to_string(mebibytes)] = of_power;
    mebibytes *= 2;
  }
  const bool splits_all = rules.max_split_size == AllocatorRules::kUnlimited;
  return {{"expandable_segments", rules.expandable_segments},
          {"max_split_size", splits_all ? -1 : rules.max_split_size},
          {"garbage_collection_threshold", rules.garbage_collection_threshold},
          {"per_process_memory_fraction", rules.memory_fraction},
          {"roundup_power2_divisions", divisions}};
}

OrderedJson header_json(const HistoryOrigin& origin, const LabelledHistory& history) {
  OrderedJson steps = OrderedJson::array();
  for (const MemoryPeaks& peaks : origin.steps) {
    OrderedJson step = {{"step", steps.size() + 1}};
    add_peaks(step, peaks);
    steps.push_back(std::move(step));
  }
  return {{"model", origin.model},
          {"ranks", origin.ranks},
          {"rank", origin.rank},
          {"settings", settings_json(history.history.rules)},
          {"streams", history.streams},
          {"steps", steps},
          {"initial_segments", OrderedJson::array()}};
}

bool is_request(Action action) {
  return action == Action::alloc || action == Action::oom;
}

OrderedJson event_json(const LabelledHistory& history, std::size_t n) {
  const HistoryEvent& event = history.history.events[n];
  const EventLabels& labels = history.labels[n];
  const Strings& texts = history.texts;
  OrderedJson line = {{"n", n},
                      {"action", kAllocatorActions[static_cast<std::size_t>(event.action)]},
                      {"addr", event.address},
                      {"size", event.bytes},
                      {"stream", history.streams[static_cast<std::size_t>(event.stream)]}};
  if (event.device_free >= 0) line["device_free"] = event.device_free;
  if (!is_request(event.action) && event.action != Action::free_requested) return line;
  line["step"] = labels.step;
  line["phase"] = texts[labels.phase];
  line["module"] = texts[labels.module];
  line["call"] = texts[labels.call];
  if (is_request(event.action)) {
    line["op"] = texts[labels.op];
    if (labels.node != 0) line["node"] = texts[labels.node];
    line["category"] = texts[labels.category];
    line["owner"] = texts[labels.owner];
  }
  line["instruction"] = labels.instruction;
  return line;
}

}  // namespace

void write_allocator_history(const HistoryOrigin& origin, const LabelledHistory& history,
                             std::ostream& out) {
  out << json_text(header_json(origin, history)) << '\n';
  for (std::size_t n = 0; n < history.history.events.size(); ++n) {
    out << json_text(event_json(history, n)) << '\n';
  }
}

}  // namespace foreshard::traces
