#include "gui/models/comparison/unit_spans.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "gui/models/timeline/colouring.hpp"

namespace foreshard::gui {
namespace {

using traces::EventKind;

// The rank's kernels in that step in the order of their starts; the host's arithmetic without a device.
std::vector<const traces::Event*> kernels(const traces::Trace& trace, std::int32_t rank,
                                          std::int32_t step) {
  std::vector<const traces::Event*> device, host;
  for (const traces::Event& event : trace.events) {
    if (event.step != step || (event.unit == 0 && event.phase == 0)) continue;
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
    if (lane.rank != rank) continue;
    if (lane.device && event.kind == EventKind::compute) device.push_back(&event);
    if (!lane.device && event.kind == EventKind::host_compute) host.push_back(&event);
  }
  if (device.empty()) device = std::move(host);
  std::stable_sort(device.begin(), device.end(),
                   [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  return device;
}

}  // namespace

std::vector<UnitSpan> unit_spans(const traces::Trace& trace, std::int32_t rank, std::int32_t step,
                                 std::int64_t step_start_ns) {
  const Colouring colours(trace, ColourBy::unit);
  std::vector<UnitSpan> spans;
  for (const traces::Event* event : kernels(trace, rank, step)) {
    const std::string& phase = trace.strings[event->phase];
    const bool has_unit = event->unit != 0 && phase != "optimizer";
    const std::string& unit = has_unit ? trace.strings[event->unit] : phase;
    const traces::Interval time{event->start_ns - step_start_ns, event->end_ns - step_start_ns};
    if (!spans.empty() && spans.back().unit == unit && spans.back().phase == phase) {
      spans.back().time.end_ns = std::max(spans.back().time.end_ns, time.end_ns);
      continue;
    }
    if (!spans.empty()) {
      spans.back().time.end_ns = std::min(spans.back().time.end_ns, time.start_ns);
    }
    const Fill fill = has_unit ? colours.unit_fill(event->unit) : Fill{};
    spans.push_back({unit, phase, time, fill.is_unit ? fill.depth : -1, fill.is_odd});
  }
  return spans;
}

std::vector<Ribbon> ribbons(const std::vector<UnitSpan>& baseline,
                            const std::vector<UnitSpan>& candidate) {
  using Name = std::pair<std::string, std::string>;
  std::map<Name, std::vector<std::size_t>> theirs;
  for (std::size_t n = 0; n < candidate.size(); ++n) {
    theirs[{candidate[n].unit, candidate[n].phase}].push_back(n);
  }
  std::map<Name, std::size_t> used;
  std::vector<Ribbon> result;
  const auto length = [](const UnitSpan& span) { return span.time.end_ns - span.time.start_ns; };
  for (std::size_t n = 0; n < baseline.size(); ++n) {
    const Name name{baseline[n].unit, baseline[n].phase};
    const auto others = theirs.find(name);
    std::size_t& occurrence = used[name];
    if (others == theirs.end() || occurrence >= others->second.size()) continue;
    const std::size_t other = others->second[occurrence++];
    result.push_back({n, other, length(candidate[other]) - length(baseline[n])});
  }
  return result;
}

std::string brief_unit(const std::string& unit) {
  const auto dot = unit.rfind('.');
  return dot == std::string::npos ? unit : unit.substr(dot + 1);
}

}  // namespace foreshard::gui
