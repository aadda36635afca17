#include "gui/models/timeline/same_event.hpp"

#include <string_view>
#include <tuple>

#include "gui/models/timeline/lane_events.hpp"

namespace foreshard::gui {
namespace {

using traces::Event;
using traces::Trace;

std::optional<std::int32_t> same_lane(const Trace& from, std::int32_t lane, const Trace& to) {
  const auto key = [](const Trace& trace, const traces::Lane& one) {
    return std::tuple(one.rank, one.device, std::string_view(trace.strings[one.name]));
  };
  const auto wanted = key(from, from.lanes[static_cast<std::size_t>(lane)]);
  for (std::size_t n = 0; n < to.lanes.size(); ++n) {
    if (key(to, to.lanes[n]) == wanted) return static_cast<std::int32_t>(n);
  }
  return {};
}

bool are_alike(const Trace& a, const Event& one, const Trace& b, const Event& other) {
  return one.step == other.step && a.strings[one.name] == b.strings[other.name] &&
         a.strings[one.unit] == b.strings[other.unit] &&
         a.strings[one.phase] == b.strings[other.phase];
}

}  // namespace

std::optional<std::int32_t> same_event(const Trace& from, std::int32_t event, const Trace& to) {
  const Event wanted = from.events[static_cast<std::size_t>(event)];
  const auto lane = same_lane(from, wanted.lane, to);
  if (!lane) return {};
  std::size_t before = 0;  // of those alike
  for (std::size_t n = events_of(from, wanted.lane).first; n < static_cast<std::size_t>(event); ++n)
    before += are_alike(from, wanted, from, from.events[n]);
  std::optional<std::int32_t> in_order;
  const LaneEvents there = events_of(to, *lane);
  for (std::size_t n = there.first; n < there.end; ++n) {
    const Event other = to.events[n];
    const bool begins_then = other.start_ns == wanted.start_ns;
    if (begins_then && to.strings[other.name] == from.strings[wanted.name]) {
      return static_cast<std::int32_t>(n);
    }
    if (are_alike(from, wanted, to, other) && before-- == 0)
      in_order = static_cast<std::int32_t>(n);
  }
  return in_order;
}

}  // namespace foreshard::gui
