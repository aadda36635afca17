// When the allocator was asked, for each event of a rank: the trace's own times, made to never
// decrease where a recording has them out of order. Every 64th is kept, and from there on the trace is
// asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::gui {

class HostTimes {
 public:
  HostTimes() = default;
  explicit HostTimes(traces::MemoryEventSpan events);  // of a trace that stays

  std::size_t size() const { return events_.size(); }
  std::int64_t operator[](std::size_t event) const;
  // The first event from `from` on whose time is not below the limit; size() where there is none. It
  // is not before `from`; near it the search is quick.
  std::size_t first_not_below(std::int64_t limit, std::size_t from) const;

 private:
  traces::MemoryEventSpan events_;
  std::vector<std::int64_t> kept_;
};

}  // namespace foreshard::gui
