#include "gui/models/comparison/lane_pairs.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace foreshard::gui {
namespace {

std::optional<LaneKind> lane_kind(const traces::Event& event, Role role) {
  using traces::EventKind;
  switch (event.kind) {
    case EventKind::compute: return LaneKind::compute;
    case EventKind::memory: return LaneKind::copies;
    case EventKind::host_compute: return LaneKind::host;
    case EventKind::communication: break;
    default: return std::nullopt;
  }
  switch (role) {
    case Role::all_gather: return LaneKind::all_gather;
    case Role::reduce_scatter: return LaneKind::reduce_scatter;
    case Role::all_reduce: return LaneKind::all_reduce;
    default: return LaneKind::other_communication;
  }
}

}  // namespace

std::vector<LaneSide> lane_sides(const traces::Trace& trace, std::int32_t rank, std::int32_t step,
                                 std::int64_t step_start_ns) {
  std::vector<LaneSide> sides(static_cast<std::size_t>(LaneKind::kCount));
  for (std::size_t n = 0; n < trace.events.size(); ++n) {
    const traces::Event& event = trace.events[n];
    if (event.step != step || trace.lanes[static_cast<std::size_t>(event.lane)].rank != rank) {
      continue;
    }
    const EventColour colour =
        colour_of_operator(trace.strings[event.name], trace.strings[event.phase]);
    const auto kind = lane_kind(event, colour.role);
    if (!kind) continue;
    sides[static_cast<std::size_t>(*kind)].boxes.push_back(
        {{event.start_ns - step_start_ns, event.end_ns - step_start_ns},
         colour,
         static_cast<std::int32_t>(n)});
  }
  for (LaneSide& side : sides) {
    std::stable_sort(side.boxes.begin(), side.boxes.end(),
                     [](const ComparedBox& a, const ComparedBox& b) {
                       return a.time.start_ns < b.time.start_ns;
                     });
    std::vector<traces::Interval> busy;
    for (const ComparedBox& box : side.boxes) busy.push_back(box.time);
    side.busy_ns = traces::length(traces::united(std::move(busy)));
  }
  return sides;
}

std::vector<LanePair> lane_pairs(std::vector<LaneSide> baseline, std::vector<LaneSide> candidate) {
  std::int64_t busiest = 0;
  for (const auto* sides : {&baseline, &candidate}) {
    for (const LaneSide& side : *sides) busiest = std::max(busiest, side.busy_ns);
  }
  std::vector<LanePair> pairs;
  for (std::size_t n = 0; n < baseline.size(); ++n) {
    if (baseline[n].boxes.empty() && candidate[n].boxes.empty()) continue;
    if (std::max(baseline[n].busy_ns, candidate[n].busy_ns) < busiest / 10'000) continue;
    pairs.push_back({static_cast<LaneKind>(n), std::move(baseline[n]), std::move(candidate[n])});
  }
  return pairs;
}

}  // namespace foreshard::gui
