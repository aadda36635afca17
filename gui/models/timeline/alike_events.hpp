// Which events of a lane are of one operator in one step: found by a look at that step alone, which is
// where a stretch of 256 events has some of it.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::gui {

class AlikeEvents {
 public:
  explicit AlikeEvents(const traces::Trace& trace);  // which stays as long as this

  struct Trait {  // that events have in common
    std::int32_t step = 0;
    traces::StringId name = 0;
    traces::EventKind kind = traces::EventKind::host;
    auto operator<=>(const Trait&) const = default;
  };
  static Trait trait_of(const traces::Event& event) { return {event.step, event.name, event.kind}; }

  // Indices into Trace::events, ascending and so in the order of time; empty where there are none.
  std::vector<std::int32_t> of(std::int32_t lane, const Trait& trait) const;
  // What the events of a step in that lane are.
  std::vector<Trait> traits(std::int32_t lane, std::int32_t step) const;

 private:
  struct Steps {
    std::int32_t first, last;
  };

  template <typename Visit>
  void visit(std::int32_t lane, std::int32_t step, const Visit& visit) const;

  const traces::Trace* trace_;
  std::vector<Steps> steps_;  // that each stretch of Trace::events has
};

}  // namespace foreshard::gui
