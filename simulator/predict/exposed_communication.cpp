// Exposed communication of one step, with Holistic Trace Analysis' definition: the time in which
// some collective runs on the rank and no kernel does.
#include <algorithm>

#include "simulator/predict/prediction.hpp"
#include "traces/intervals.hpp"

namespace foreshard::simulator {

using traces::Interval;

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
    } else if (program.computes(instruction)) {
      (instruction.stream == Stream::compute ? compute : others).push_back(interval);
    }
  }
  compute = united(std::move(compute));
  others = united(std::move(others));
  std::vector<Interval> kernels(compute.size() + others.size());
  std::merge(compute.begin(), compute.end(), others.begin(), others.end(), kernels.begin(),
             [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  kernels = united(std::move(kernels));
  communication = united(std::move(communication));
  return length(communication) - overlap(communication, kernels);
}

}  // namespace foreshard::simulator
