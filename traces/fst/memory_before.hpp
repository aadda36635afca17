// The memory that was allocated before some moment and is still there: what a trace that is read in
// part begins with. Events that undo one another are forgotten as they come, so that this takes the
// memory of what is left.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::traces {

class MemoryBefore {
 public:
  // Events of each rank in their order.
  void apply(const MemoryEvent& event);

  // The events that are left, in the order in which they came, at `time_ns`.
  std::vector<MemoryEvent> at(std::int64_t time_ns) const;

 private:
  using Number = std::int64_t;  // of an event, in the order in which they came
  struct Block {
    Number allocated;
    Number free_requested = kNone;  // while it waits for its streams
  };
  using Place = std::tuple<std::int32_t, bool, std::int64_t>;  // rank, on the host, address

  Number keep(const MemoryEvent& event);
  void forget(std::map<Place, Block>::iterator block);
  void apply_segment(const MemoryEvent& event, const Place& place);

  Number count_ = 0;
  std::map<Number, MemoryEvent> events_;
  std::map<Place, Block> blocks_;
  std::map<Place, Number> segments_;
};

}  // namespace foreshard::traces
