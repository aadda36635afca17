#include "gui/models/timeline/search.hpp"

#include <algorithm>
#include <cmath>

namespace foreshard::gui {
namespace {

// The order of hits; events that begin at once are in the trace's order.
struct BeginsEarlier {
  const traces::Trace& trace;

  bool operator()(EventIndex a, EventIndex b) const {
    const std::int64_t a_ns = trace.events[static_cast<std::size_t>(a)].start_ns;
    const std::int64_t b_ns = trace.events[static_cast<std::size_t>(b)].start_ns;
    return a_ns != b_ns ? a_ns < b_ns : a < b;
  }
};

}  // namespace

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
  std::sort(events_.begin(), events_.end(), BeginsEarlier{trace});
}

std::optional<EventIndex> Hits::next(const traces::Trace& trace, std::optional<EventIndex> from,
                                     int by) const {
  if (events_.empty()) return std::nullopt;
  if (!from) return by > 0 ? events_.front() : events_.back();
  const BeginsEarlier begins_earlier{trace};
  if (by > 0) {
    const auto after = std::upper_bound(events_.begin(), events_.end(), *from, begins_earlier);
    return after == events_.end() ? events_.front() : *after;
  }
  const auto here = std::lower_bound(events_.begin(), events_.end(), *from, begins_earlier);
  return here == events_.begin() ? events_.back() : *std::prev(here);
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
