// Exposed communication of one step, with Holistic Trace Analysis' definition: the time in which
// some collective runs on the rank and no kernel does.
#include <algorithm>
#include <limits>

#include "models/program/unrolled.hpp"
#include "simulator/engine/step_spans.hpp"
#include "simulator/predict/prediction.hpp"
#include "traces/intervals.hpp"

namespace foreshard::simulator {
namespace {

using traces::Interval;

// What of the first no interval of the second covers; both are disjoint and ordered.
std::vector<Interval> uncovered(const std::vector<Interval>& intervals,
                                const std::vector<Interval>& covers) {
  std::vector<Interval> result;
  auto cover = covers.begin();
  for (Interval left : intervals) {
    while (cover != covers.end() && cover->end_ns <= left.start_ns) ++cover;
    for (auto c = cover; c != covers.end() && c->start_ns < left.end_ns; ++c) {
      if (c->start_ns > left.start_ns) result.push_back({left.start_ns, c->start_ns});
      left.start_ns = std::max(left.start_ns, c->end_ns);
    }
    if (left.start_ns < left.end_ns) result.push_back(left);
  }
  return result;
}

// What runs in stretches of a step's spans. Kernels of the compute stream need no sorting; those of the
// others are few.
class Activity {
 public:
  Activity(const RankProgram& program, const Program& step, const StepSpans& spans)
      : program_(program), step_(step), spans_(spans) {
    compute_.reserve(spans.size());
  }

  // The spans [begin, end), which follow those added before; returns from when to when any of them
  // runs: from after everything else to before it where none does.
  Interval add(std::size_t begin, std::size_t end) {
    Interval hull{std::numeric_limits<std::int64_t>::max() / 2, 0};
    for (std::size_t s = begin; s < end; ++s) {
      std::vector<Interval>* const list = list_of(step_.instructions[spans_.instruction(s)]);
      if (list == nullptr) continue;
      const Span span = spans_[s];
      list->push_back({span.start, span.end});
      hull.start_ns = std::min(hull.start_ns, span.start);
      hull.end_ns = std::max(hull.end_ns, span.end);
    }
    return hull;
  }

  std::int64_t exposed_ns() && {
    const auto without_compute = uncovered(united(std::move(communication_)), compute_);
    return length(uncovered(without_compute, united(std::move(others_))));
  }

 private:
  std::vector<Interval>* list_of(const Instruction& i) {
    if (i.kind == Kind::collective) return &communication_;
    if (!program_.computes(i)) return nullptr;
    return i.stream == Stream::compute ? &compute_ : &others_;
  }

  const RankProgram& program_;
  const Program& step_;
  const StepSpans& spans_;
  std::vector<Interval> compute_, others_, communication_;
};

}  // namespace

std::int64_t exposed_communication_ns(const RankProgram& program, const RankTimeline& timeline,
                                      std::int64_t step) {
  const Program& instructions = program.step(step);
  const StepSpans spans(timeline, instructions, static_cast<std::size_t>(step), 0);
  Activity all(program, instructions, spans);
  if (spans.left_out() == 0) {
    all.add(0, spans.size());
    return std::move(all).exposed_ns();
  }
  const std::size_t copy_end = spans.copies_begin(), copy_begin = copy_end - spans.copy_length();
  Activity copy(program, instructions, spans);
  const Interval before = all.add(0, copy_begin), hull = copy.add(copy_begin, copy_end);
  all.add(copy_begin, copy_end);
  const Interval after = all.add(copy_end, spans.size());
  // Where nothing else runs while a copy does, it adds what it exposes by itself.
  const std::int64_t next = hull.start_ns + spans.stream_ns();
  const std::int64_t last_end = hull.end_ns + spans.left_out() * spans.stream_ns();
  if (hull.end_ns > next || before.end_ns > next || last_end > after.start_ns) {
    return exposed_communication_ns(unrolled(program), unrolled(timeline, program), step);
  }
  return std::move(all).exposed_ns() + spans.left_out() * std::move(copy).exposed_ns();
}

}  // namespace foreshard::simulator
