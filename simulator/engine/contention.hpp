// What collectives cost the kernels that run beside them. A collective is itself a kernel: its channels
// take multiprocessors, its traffic takes memory bandwidth. A task whose cost says that it is contended
// by a factor f does 1/f of its work a nanosecond while at least one collective is under way.
//
// The engine that walks programs in order knows of the collectives that were issued before the task.
// Under sharded training those are the ones that overlap it: units are gathered ahead of the work on
// the unit before, gradients are reduced while the work of the next unit is issued.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace foreshard::simulator {

struct Interval {
  std::int64_t start = 0, end = 0;
};

class CollectivesUnderWay {
 public:
  // Collectives come in any order of time.
  void add(Interval collective);
  // Those that are over by then slow nothing any more. `time` never decreases.
  void forget_before(std::int64_t time);
  // When a task ends that starts then and takes `ns` alone; `factor` is 1 or more.
  std::int64_t end_of_task(std::int64_t start, std::int64_t ns, double factor) const;

  // The ones that were not forgotten, by start.
  const std::vector<Interval>& intervals() const { return intervals_; }
  void shift(std::int64_t ns);

 private:
  std::vector<Interval> intervals_;
};

}  // namespace foreshard::simulator
