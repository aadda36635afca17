// What a stretch of memory events changes in all, such as the memory that was allocated before the part
// of a trace that is looked at. Events that undo one another are forgotten as they come, so that this
// takes the memory of what is left.
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

  // The events that are left, at `time_ns`: frees of what was allocated before them all come first, as
  // what they make room for may take their addresses; otherwise in the order in which they came.
  std::vector<MemoryEvent> at(std::int64_t time_ns) const;

 private:
  using Number = std::int64_t;  // of an event, in the order in which they came
  struct Block {
    Number allocated;
    Number free_requested = kNone;  // while it waits for its streams
  };
  using Place = std::tuple<std::int32_t, bool, std::int64_t>;  // rank, on the host, address

  Number keep(const MemoryEvent& event);
  void keep_first(const MemoryEvent& event);
  void forget(std::map<Place, Block>::iterator block);
  void apply_segment(const MemoryEvent& event, const Place& place);

  Number count_ = 0;
  std::map<Number, MemoryEvent> events_;
  std::map<Place, Block> blocks_;
  std::map<Place, Number> segments_;
};

}  // namespace foreshard::traces
