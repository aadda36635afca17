#include "gui/models/timeline/search.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard::gui {

Hits::Hits(const traces::Trace& trace, const SearchQuery& query,
           const std::atomic<bool>& is_cancelled) {
  if (query.is_empty()) return;
  const QueryMatcher matcher(trace, query);
  is_hit_.resize(trace.events.size());
  constexpr std::size_t kBetweenLooks = 4096;
  for (std::size_t n = 0; n < trace.events.size(); ++n) {
    if (n % kBetweenLooks == 0 && is_cancelled) break;
    if (!matcher.matches(trace.events[n])) continue;
    events_.push_back(static_cast<EventIndex>(n));
    is_hit_[n] = true;
  }
  std::stable_sort(events_.begin(), events_.end(), [&](EventIndex a, EventIndex b) {
    return trace.events[static_cast<std::size_t>(a)].start_ns <
           trace.events[static_cast<std::size_t>(b)].start_ns;
  });
}

std::optional<EventIndex> Hits::next(std::optional<EventIndex> from, int by) const {
  if (events_.empty()) return std::nullopt;
  const auto count = static_cast<std::ptrdiff_t>(events_.size());
  std::ptrdiff_t at = by > 0 ? -1 : count;
  if (from) {
    const auto found = std::find(events_.begin(), events_.end(), *from);
    if (found != events_.end()) at = found - events_.begin();
  }
  return events_[static_cast<std::size_t>(((at + by) % count + count) % count)];
}

std::vector<DurationBin> Hits::durations(const traces::Trace& trace, std::size_t bins) const {
  if (events_.empty() || bins == 0) return {};
  const auto length = [&](EventIndex event) {
    const traces::Event& e = trace.events[static_cast<std::size_t>(event)];
    return std::max<std::int64_t>(e.end_ns - e.start_ns, 1);
  };
  const auto [shortest, longest] =
      std::minmax_element(events_.begin(), events_.end(),
                          [&](EventIndex a, EventIndex b) { return length(a) < length(b); });
  const double low = std::log(static_cast<double>(length(*shortest)));
  const double high = std::log(static_cast<double>(length(*longest)) * 1.0001 + 1);
  const double step = (high - low) / static_cast<double>(bins);
  std::vector<DurationBin> histogram(bins);
  for (std::size_t n = 0; n < bins; ++n) {
    histogram[n].from_ns = std::llround(std::exp(low + step * static_cast<double>(n)));
    histogram[n].to_ns = std::llround(std::exp(low + step * static_cast<double>(n + 1)));
  }
  for (const EventIndex event : events_) {
    const double at = (std::log(static_cast<double>(length(event))) - low) / step;
    ++histogram[std::min(static_cast<std::size_t>(std::max(at, 0.0)), bins - 1)].events;
  }
  return histogram;
}

}  // namespace foreshard::gui
