// Device work that one operator launched as several kernels. Recordings give every kernel the cost key
// of its operator, and only the sum of them is the operator's cost. Imported recordings join them by
// the call that launched them, our own by instruction.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::simulator {

class OperatorPieces {
 public:
  // Of a sorted trace, of which `events` are all.
  OperatorPieces(const traces::Trace& trace, std::span<const traces::Event> events);

  // Of an operator's pieces the first stands for all. These are of the events given above.
  bool is_part_of_another(const traces::Event& event) const { return time_of(event) < 0; }
  // While any piece of the operator ran, in nanoseconds; 0 where the event is all there is.
  double time_of(const traces::Event& event) const {
    const auto found = times_.find(&event);
    return found == times_.end() ? 0 : found->second;
  }

 private:
  void join_launches(const traces::Trace& trace, std::span<const traces::Event> events);
  void join_instructions(const traces::Trace& trace, std::span<const traces::Event> events);
  void add(std::vector<const traces::Event*>& pieces);

  std::unordered_map<const traces::Event*, double> times_;
};

}  // namespace foreshard::simulator
