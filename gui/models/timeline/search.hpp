// The hits of a search: which events match, and which comes next.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "gui/models/timeline/event_links.hpp"
#include "gui/models/timeline/search_query.hpp"

namespace foreshard::gui {

struct DurationBin {
  std::int64_t from_ns = 0, to_ns = 0;
  std::size_t events = 0;
};

class Hits {
 public:
  Hits() = default;
  // All events of the trace that match; stops early, with what it has, once `is_cancelled`.
  Hits(const traces::Trace& trace, const SearchQuery& query, const std::atomic<bool>& is_cancelled);

  const std::vector<EventIndex>& events() const { return events_; }  // in the order of time
  bool contains(EventIndex event) const {
    return is_hit_.size() > 0 && is_hit_[static_cast<std::size_t>(event)];
  }
  // The hit that begins next after the event (`by` 1) or before it (-1), the event being a hit or not;
  // without one the first or the last. From the last on to the first.
  std::optional<EventIndex> next(const traces::Trace& trace, std::optional<EventIndex> from,
                                 int by) const;

  // In bins whose bounds grow by equal factors.
  std::vector<DurationBin> durations(const traces::Trace& trace, std::size_t bins) const;

 private:
  std::vector<EventIndex> events_;
  std::vector<bool> is_hit_;
};

}  // namespace foreshard::gui
