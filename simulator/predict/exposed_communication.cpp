// Exposed communication of one step, with Holistic Trace Analysis' definition: the time in which
// some collective runs on the rank and no kernel does.
#include <algorithm>
#include <limits>

#include "models/program/unrolled.hpp"
#include "simulator/predict/prediction.hpp"
#include "traces/intervals.hpp"

namespace foreshard::simulator {
namespace {

using traces::Interval;

// What runs in a stretch of a step's spans. Kernels of the compute stream need no sorting; those of the
// others are few.
class Activity {
 public:
  Activity(const RankProgram& program, const Program& step, std::span<const Span> spans)
      : program_(program), step_(step), spans_(spans) {}

  // The spans [begin, end).
  void add(std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) add(step_.instructions[instruction_of(s)], spans_[s]);
  }

  // Of all that was added, in no order of its own.
  Interval hull() const { return hull_; }

  std::int64_t exposed_ns() && {
    compute_ = united(std::move(compute_));
    others_ = united(std::move(others_));
    std::vector<Interval> kernels(compute_.size() + others_.size());
    std::merge(compute_.begin(), compute_.end(), others_.begin(), others_.end(), kernels.begin(),
               [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
    kernels = united(std::move(kernels));
    communication_ = united(std::move(communication_));
    return length(communication_) - overlap(communication_, kernels);
  }

 private:
  // Copies of the repetition follow one another, as many as have spans of their own.
  std::size_t instruction_of(std::size_t span) const {
    const Repetition& r = step_.repetition;
    const auto end = static_cast<std::size_t>(r.end);
    if (r.more == 0 || span < end) return span;
    const std::size_t further = spans_.size() - step_.instructions.size();
    if (span >= end + further) return span - further;
    const auto length = static_cast<std::size_t>(r.length());
    return end - length + (span - end) % length;
  }

  void add(const Instruction& instruction, const Span& span) {
    const Interval interval{span.start, span.end};
    if (instruction.kind == Kind::collective) {
      communication_.push_back(interval);
    } else if (program_.computes(instruction)) {
      (instruction.stream == Stream::compute ? compute_ : others_).push_back(interval);
    } else {
      return;
    }
    hull_.start_ns = std::min(hull_.start_ns, interval.start_ns);
    hull_.end_ns = std::max(hull_.end_ns, interval.end_ns);
  }

  const RankProgram& program_;
  const Program& step_;
  std::span<const Span> spans_;
  std::vector<Interval> compute_, others_, communication_;
  Interval hull_{std::numeric_limits<std::int64_t>::max(), 0};
};

}  // namespace

std::int64_t exposed_communication_ns(const RankProgram& program, const RankTimeline& timeline,
                                      std::int64_t step) {
  const auto n = static_cast<std::size_t>(step);
  const auto spans = timeline.step(n);
  const std::size_t begin = timeline.first_span[n], end = timeline.first_span[n + 1];
  const Program& instructions = program.step(step);
  Activity all(program, instructions, spans);
  all.add(0, spans.size());
  const auto repeated =
      std::find_if(timeline.repeated.begin(), timeline.repeated.end(),
                   [&](const RepeatedSpans& r) { return begin <= r.first && r.first < end; });
  if (repeated == timeline.repeated.end()) return std::move(all).exposed_ns();

  const std::size_t copy_begin = repeated->first - begin, copy_end = copy_begin + repeated->count;
  Activity before(program, instructions, spans), after = before, copy = before;
  before.add(0, copy_begin);
  copy.add(copy_begin, copy_end);
  after.add(copy_end, spans.size());
  // Where nothing else runs while a copy does, it adds what it exposes by itself.
  const Interval hull = copy.hull();
  const std::int64_t period = repeated->stream_ns;
  const bool is_apart = hull.end_ns <= hull.start_ns + period &&
                        before.hull().end_ns <= hull.start_ns + period &&
                        hull.end_ns + repeated->times * period <= after.hull().start_ns;
  if (!is_apart) {
    return exposed_communication_ns(unrolled(program), unrolled(timeline, program), step);
  }
  return std::move(all).exposed_ns() + repeated->times * std::move(copy).exposed_ns();
}

}  // namespace foreshard::simulator
