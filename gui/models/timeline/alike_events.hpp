// Which events of a lane are of one operator in one step, found without a look at the rest of the lane:
// four bytes an event.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::gui {

class AlikeEvents {
 public:
  explicit AlikeEvents(const traces::Trace& trace);

  struct Trait {  // that events have in common
    std::int32_t step = 0;
    traces::StringId name = 0;
    traces::EventKind kind = traces::EventKind::host;
    auto operator<=>(const Trait&) const = default;
  };
  static Trait trait_of(const traces::Event& event) { return {event.step, event.name, event.kind}; }

  // Indices into Trace::events, ascending and so in the order of time; empty where there are none.
  std::span<const std::int32_t> of(std::int32_t lane, const Trait& trait) const;
  // What the events of a step in that lane are.
  std::vector<Trait> traits(std::int32_t lane, std::int32_t step) const;

 private:
  struct Group {
    Trait trait;
    std::size_t first = 0, end = 0;  // of order_
  };

  void add_lane(const traces::Trace& trace, std::size_t lane);

  std::vector<std::int32_t> order_;          // of each lane's events, group after group
  std::vector<std::vector<Group>> of_lane_;  // ascending
};

}  // namespace foreshard::gui
