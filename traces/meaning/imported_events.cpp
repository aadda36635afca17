#include "traces/meaning/imported_events.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace foreshard::traces {
namespace {

bool stands_before(const Event& a, const Event& b) {
  return std::pair(a.start_ns, -a.end_ns) < std::pair(b.start_ns, -b.end_ns);
}

// In place, for the sake of memory: an order first, then each cycle of it once around.
void sort_lane(Event* events, EventLinks* links, std::size_t size) {
  if (std::is_sorted(events, events + size, stands_before)) return;
  std::vector<std::uint32_t> from(size);
  std::iota(from.begin(), from.end(), 0U);
  std::stable_sort(from.begin(), from.end(), [events](std::uint32_t a, std::uint32_t b) {
    return stands_before(events[a], events[b]);
  });
  for (std::uint32_t first = 0; first < from.size(); ++first) {
    const Event event = events[first];
    const EventLinks link = links[first];
    std::uint32_t at = first;
    while (from[at] != first) {
      const std::uint32_t next = std::exchange(from[at], at);
      events[at] = events[next];
      links[at] = links[next];
      at = next;
    }
    from[at] = at;
    events[at] = event;
    links[at] = link;
  }
}

}  // namespace

void sort_lanes(ImportedEvents& imported) {
  for (std::size_t lane = 0; lane < imported.lanes.size(); ++lane) {
    const std::size_t begin = imported.lane_begin[lane];
    sort_lane(imported.events.data() + begin, imported.links.data() + begin,
              imported.lane_begin[lane + 1] - begin);
  }
}

ImportedEvents take_events(Trace& trace) {
  ImportedEvents out;
  out.strings = std::exchange(trace.strings, {});
  out.lanes = std::exchange(trace.lanes, {});
  out.events.assign(trace.events.begin(), trace.events.end());
  trace.events = {};
  out.links.resize(out.events.size());
  for (std::size_t lane = 0; lane <= out.lanes.size(); ++lane) {
    const auto first =
        std::ranges::lower_bound(out.events, static_cast<std::int32_t>(lane), {}, &Event::lane);
    out.lane_begin.push_back(static_cast<std::size_t>(first - out.events.begin()));
  }
  return out;
}

void put_events(Trace& trace, ImportedEvents imported) {
  trace.strings = std::move(imported.strings);
  trace.lanes = std::move(imported.lanes);
  trace.events = EventList(imported.events.begin(), imported.events.end());
}

}  // namespace foreshard::traces
