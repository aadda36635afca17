#include "gui/models/comparison/unit_spans.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "gui/models/timeline/colouring.hpp"

namespace foreshard::gui {
namespace {

using traces::EventKind;

// The kernels of the rank in that step by their starts; without a device the host's arithmetic.
std::vector<traces::EventPointer> unit_kernels(const traces::Trace& trace, std::int32_t rank,
                                               std::int32_t step) {
  std::vector<traces::EventPointer> device, host;
  for (auto at = trace.events.begin(); at != trace.events.end(); ++at) {
    const traces::Event event = *at;
    if (event.step != step || (event.unit == 0 && event.phase == 0)) continue;
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
    if (lane.rank != rank) continue;
    if (lane.device && event.kind == EventKind::compute) device.push_back(at);
    if (!lane.device && event.kind == EventKind::host_compute) host.push_back(at);
  }
  if (device.empty()) device = std::move(host);
  std::stable_sort(device.begin(), device.end(),
                   [](const auto& a, const auto& b) { return a->start_ns < b->start_ns; });
  return device;
}

}  // namespace

std::vector<UnitSpan> unit_spans(const traces::Trace& trace, std::int32_t rank, std::int32_t step,
                                 std::int64_t step_start_ns) {
  const Colouring colours(trace, ColourBy::unit);
  std::vector<UnitSpan> spans;
  for (const traces::EventPointer event : unit_kernels(trace, rank, step)) {
    const auto number = static_cast<std::int32_t>(event - trace.events.begin());
    const std::string& phase = trace.strings[event->phase];
    const bool has_unit = event->unit != 0 && phase != "optimizer";
    const std::string& unit = has_unit ? trace.strings[event->unit] : phase;
    const traces::Interval time{event->start_ns - step_start_ns, event->end_ns - step_start_ns};
    if (!spans.empty() && spans.back().unit == unit && spans.back().phase == phase) {
      spans.back().time.end_ns = std::max(spans.back().time.end_ns, time.end_ns);
      spans.back().events.push_back(number);
      continue;
    }
    if (!spans.empty()) {
      spans.back().time.end_ns = std::min(spans.back().time.end_ns, time.start_ns);
    }
    const Fill fill = has_unit ? colours.unit_fill(event->unit) : Fill{};
    spans.push_back({unit, phase, time, fill.is_unit ? fill.depth : -1, fill.is_odd, {number}});
  }
  return spans;
}

std::vector<Ribbon> ribbons(const std::vector<UnitSpan>& baseline,
                            const std::vector<UnitSpan>& candidate,
                            const std::vector<profiler::EventMatch>& pairs) {
  const auto span_of = [](const std::vector<UnitSpan>& spans) {
    std::map<std::int32_t, std::size_t> of;
    for (std::size_t n = 0; n < spans.size(); ++n) {
      for (const std::int32_t event : spans[n].events) of[event] = n;
    }
    return of;
  };
  const auto ours = span_of(baseline), theirs = span_of(candidate);
  std::map<std::pair<std::size_t, std::size_t>, int> common;
  for (const profiler::EventMatch& pair : pairs) {
    const auto our = ours.find(pair.baseline);
    const auto their = theirs.find(pair.candidate);
    if (our != ours.end() && their != theirs.end()) ++common[{our->second, their->second}];
  }
  std::map<std::size_t, int> most_of_baseline, most_of_candidate;
  for (const auto& [spans, count] : common) {
    most_of_baseline[spans.first] = std::max(most_of_baseline[spans.first], count);
    most_of_candidate[spans.second] = std::max(most_of_candidate[spans.second], count);
  }
  std::vector<Ribbon> result;
  const auto length = [](const UnitSpan& span) { return span.time.end_ns - span.time.start_ns; };
  for (const auto& [spans, count] : common) {
    const auto [our, their] = spans;
    if (count < most_of_baseline[our] || count < most_of_candidate[their]) continue;
    // Of equally good ones the first.
    most_of_baseline[our] = most_of_candidate[their] = count + 1;
    result.push_back({our, their, length(candidate[their]) - length(baseline[our])});
  }
  return result;
}

}  // namespace foreshard::gui
