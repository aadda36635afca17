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

// What runs in stretches of a step's spans. Kernels of the compute stream need no sorting; those of the
// others are few.
class Activity {
 public:
  Activity(const RankProgram& program, const Program& step, std::span<const Span> spans)
      : program_(program), step_(step), spans_(spans) {
    compute_.reserve(spans.size());
  }

  // The spans [begin, end); returns from when to when any of them runs: from after everything else to
  // before it where none does.
  Interval add(std::size_t begin, std::size_t end) {
    Interval hull{std::numeric_limits<std::int64_t>::max() / 2, 0};
    for (std::size_t s = begin; s < end; ++s) {
      const Instruction& instruction = step_.instructions[instruction_of(s)];
      std::vector<Interval>* const list = list_of(instruction);
      if (list == nullptr) continue;
      list->push_back({spans_[s].start, spans_[s].end});
      hull.start_ns = std::min(hull.start_ns, spans_[s].start);
      hull.end_ns = std::max(hull.end_ns, spans_[s].end);
    }
    return hull;
  }

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

  std::vector<Interval>* list_of(const Instruction& i) {
    if (i.kind == Kind::collective) return &communication_;
    if (!program_.computes(i)) return nullptr;
    return i.stream == Stream::compute ? &compute_ : &others_;
  }

  const RankProgram& program_;
  const Program& step_;
  std::span<const Span> spans_;
  std::vector<Interval> compute_, others_, communication_;
};

}  // namespace

std::int64_t exposed_communication_ns(const RankProgram& program, const RankTimeline& timeline,
                                      std::int64_t step) {
  const auto n = static_cast<std::size_t>(step);
  const auto spans = timeline.step(n);
  const std::size_t begin = timeline.first_span[n], end = timeline.first_span[n + 1];
  Activity all(program, program.step(step), spans);
  const auto repeated =
      std::find_if(timeline.repeated.begin(), timeline.repeated.end(),
                   [&](const RepeatedSpans& r) { return begin <= r.first && r.first < end; });
  if (repeated == timeline.repeated.end()) {
    all.add(0, spans.size());
    return std::move(all).exposed_ns();
  }
  const std::size_t copy_begin = repeated->first - begin, copy_end = copy_begin + repeated->count;
  Activity copy(program, program.step(step), spans);
  const Interval before = all.add(0, copy_begin), hull = copy.add(copy_begin, copy_end);
  all.add(copy_begin, copy_end);
  const Interval after = all.add(copy_end, spans.size());
  // Where nothing else runs while a copy does, it adds what it exposes by itself.
  const std::int64_t next = hull.start_ns + repeated->stream_ns;
  const std::int64_t last_end = hull.end_ns + repeated->times * repeated->stream_ns;
  if (hull.end_ns > next || before.end_ns > next || last_end > after.start_ns) {
    return exposed_communication_ns(unrolled(program), unrolled(timeline, program), step);
  }
  return std::move(all).exposed_ns() + repeated->times * std::move(copy).exposed_ns();
}

}  // namespace foreshard::simulator
