// The events of one lane, which a trace keeps together.
#pragma once

#include <algorithm>
#include <cstddef>

#include "traces/trace.hpp"

namespace foreshard::gui {

// Of Trace::events.
struct LaneEvents {
  std::size_t first = 0, end = 0;
};

inline LaneEvents events_of(const traces::Trace& trace, std::int32_t lane) {
  const auto before = [](const traces::Event& event, std::int32_t number) {
    return event.lane < number;
  };
  const auto begin = trace.events.begin();
  const auto first = std::lower_bound(begin, trace.events.end(), lane, before);
  const auto end = std::lower_bound(first, trace.events.end(), lane + 1, before);
  return {static_cast<std::size_t>(first - begin), static_cast<std::size_t>(end - begin)};
}

}  // namespace foreshard::gui
