// What transfers cost what runs beside them. A collective is itself a kernel: its channels take
// multiprocessors, its traffic takes memory bandwidth, the links inside of a node, the node's network cards or,
// without links, those to the host, which copies between device and host take too.
//
// A kernel does as much of its work a nanosecond as the transfers under way leave of the part that it lacks.
// Transfers share links and cards: one that was issued later gets what those before it leave, so that
// no part carries more than it can, but for what was over when it was forgotten (forget_before).
//
// The engine that walks programs in order knows of the transfers that were issued before the task.
// Under sharded training those are the ones that overlap it: units are gathered ahead of the work on
// the unit before, gradients are reduced while the work of the next unit is issued.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/engine/engine.hpp"

namespace foreshard::simulator {

inline bool takes_host_link(const TaskCost& cost) {
  return cost.takes[static_cast<std::size_t>(Part::from_host)] > 0 ||
         cost.takes[static_cast<std::size_t>(Part::to_host)] > 0;
}

// A transfer, or a stretch of one, and what it takes meanwhile.
struct UnderWay {
  std::int64_t start = 0, end = 0;
  Demand takes{};
};

class TransfersUnderWay {
 public:
  // Transfers come in any order of time; they end no sooner than end_of_transfer(). Waiting for links and
  // cards they keep their multiprocessors.
  void add(std::int64_t start, std::int64_t end, const TaskCost& cost);
  // Those that are over by then slow nothing any more. `time` never decreases.
  void forget_before(std::int64_t time);

  // When a task ends that starts then.
  std::int64_t end_of_kernel(std::int64_t start, const TaskCost& cost) const;
  std::int64_t end_of_transfer(std::int64_t start, const TaskCost& cost) const;

  // What was not forgotten, by start.
  const std::vector<UnderWay>& all() const { return all_; }
  void shift(std::int64_t ns);

 private:
  template <typename Visit>
  std::int64_t end_of_transfer(std::int64_t start, const TaskCost& cost, const Visit& visit) const;

  std::vector<UnderWay> all_;
};

}  // namespace foreshard::simulator
