// Exposed communication of one step, with Holistic Trace Analysis' definition: the time in which
// some collective runs on the rank and no kernel does.
#include <algorithm>

#include "simulator/prediction.hpp"

namespace foreshard::simulator {
namespace {

struct Interval {
  std::int64_t start, end;
};

// Joins intervals that touch; a stream's own are in order already, so sorting is nearly free.
std::vector<Interval> joined(std::vector<Interval> intervals) {
  const auto by_start = [](const Interval& a, const Interval& b) { return a.start < b.start; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), by_start)) {
    std::sort(intervals.begin(), intervals.end(), by_start);
  }
  std::size_t kept = 0;
  for (const Interval& next : intervals) {
    if (kept > 0 && next.start <= intervals[kept - 1].end) {
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, next.end);
    } else {
      intervals[kept++] = next;
    }
  }
  intervals.resize(kept);
  return intervals;
}

}  // namespace

std::int64_t exposed_communication_ns(const RankProgram& program, const RankTimeline& timeline,
                                      std::int64_t step) {
  const auto& instructions = program.step(step).instructions;
  const auto spans = timeline.step(static_cast<std::size_t>(step));
  // Kernels of the compute stream need no sorting; those of the others are few.
  std::vector<Interval> compute, others, communication;
  compute.reserve(instructions.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Instruction& instruction = instructions[i];
    const Interval interval{spans[i].start, spans[i].end};
    if (instruction.kind == Kind::collective) {
      communication.push_back(interval);
    } else if (instruction.kind == Kind::launch &&
               program.cost_keys[static_cast<std::size_t>(instruction.cost_key)].op !=
                   Operator::fill_zero) {
      (instruction.stream == Stream::compute ? compute : others).push_back(interval);
    }
  }
  compute = joined(std::move(compute));
  others = joined(std::move(others));
  compute.insert(compute.end(), others.begin(), others.end());
  compute = joined(std::move(compute));

  std::int64_t exposed = 0;
  std::size_t next = 0;
  for (const Interval& collective : joined(std::move(communication))) {
    exposed += collective.end - collective.start;
    while (next < compute.size() && compute[next].end <= collective.start) ++next;
    for (std::size_t k = next; k < compute.size() && compute[k].start < collective.end; ++k) {
      exposed -=
          std::min(compute[k].end, collective.end) - std::max(compute[k].start, collective.start);
    }
  }
  return exposed;
}

}  // namespace foreshard::simulator
