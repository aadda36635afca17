#include "gui/models/memory/host_times.hpp"

#include <algorithm>
#include <limits>

#include "gui/models/memory/ascending_search.hpp"

namespace foreshard::gui {
namespace {

constexpr std::size_t kBetweenKept = 64;

}  // namespace

HostTimes::HostTimes(traces::MemoryEventSpan events) : events_(events) {
  kept_.reserve(events.size() / kBetweenKept + 1);
  std::int64_t now = std::numeric_limits<std::int64_t>::min();
  for (std::size_t n = 0; n < events.size(); ++n) {
    now = std::max(now, events[n].time_ns);
    if (n % kBetweenKept == 0) kept_.push_back(now);
  }
}

std::int64_t HostTimes::operator[](std::size_t event) const {
  const std::size_t known = event / kBetweenKept;
  std::int64_t time = kept_[known];
  for (std::size_t n = known * kBetweenKept + 1; n <= event; ++n) {
    time = std::max(time, events_[n].time_ns);
  }
  return time;
}

std::size_t HostTimes::first_not_below(std::int64_t limit, std::size_t from) const {
  if (from >= size()) return size();
  const std::size_t above = gui::first_not_below(kept_, limit, from / kBetweenKept);
  const std::size_t end = std::min(above * kBetweenKept, size());
  std::size_t event = std::max(from, above == 0 ? 0 : (above - 1) * kBetweenKept);
  while (event < end && events_[event].time_ns < limit) ++event;
  return event;
}

}  // namespace foreshard::gui
