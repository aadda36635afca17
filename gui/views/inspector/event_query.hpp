// The language of the search field. Words match an event's name, unit and key, in any case, and all
// of them must; filters narrow what they find:
//
//   unit:layers.3  phase:backward  lane:compute   hold that text
//   rank:0                                        of that rank
//   dur>2ms  dur<10ms  bytes>1MiB  bytes<1GiB      larger, smaller
//
// A filter that cannot be read matches nothing, and is told.
#pragma once

#include <QStringList>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::gui {

struct EventQuery {
  QStringList words;
  QStringList filters;     // as they were typed
  QStringList unreadable;  // of these, those that cannot be read
  QStringList units, phases, lanes;
  std::vector<int> ranks;
  std::int64_t above_ns = -1, below_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t above_bytes = -1, below_bytes = std::numeric_limits<std::int64_t>::max();

  bool is_empty() const { return words.isEmpty() && filters.isEmpty(); }
};

EventQuery parse_query(const QString& text);
// The text without its n-th filter, and with one more.
QString without_filter(const QString& text, int filter);
QString with_filter(const QString& text, const QString& filter);

// Indices into Trace::events, in the order of time. Takes a while on large traces.
std::vector<std::int32_t> find_events(const traces::Trace& trace, const EventQuery& query);

}  // namespace foreshard::gui
