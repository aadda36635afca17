#include "simulator/engine/step_spans.hpp"

#include <algorithm>

namespace foreshard::simulator {

StepSpans::StepSpans(const RankTimeline& timeline, const Program& program, std::size_t step,
                     std::int64_t kept)
    : program_(program),
      plain_(timeline.step(step)),
      written_once_(program.repetition.more > 0 ? static_cast<std::size_t>(program.repetition.end)
                                                : plain_.size()),
      copies_begin_(plain_.size()) {
  const std::size_t begin = timeline.first_span[step], end = timeline.first_span[step + 1];
  const auto repeated =
      std::find_if(timeline.repeated.begin(), timeline.repeated.end(),
                   [&](const RepeatedSpans& r) { return begin <= r.first && r.first < end; });
  if (repeated == timeline.repeated.end()) return;
  count_ = repeated->count;
  copies_begin_ = repeated->first - begin + count_;
  left_out_ = std::max<std::int64_t>(0, repeated->times - kept);
  host_ns_ = repeated->host_ns;
  stream_ns_ = repeated->stream_ns;
  for (std::int64_t copy = left_out_ + 1; copy <= repeated->times; ++copy) {
    for (std::size_t n = 0; n < count_; ++n) kept_.push_back(copied(n, copy));
  }
}

std::size_t StepSpans::instruction_behind(std::size_t n) const {
  const auto end = static_cast<std::size_t>(program_.repetition.end);
  const auto length = static_cast<std::size_t>(program_.repetition.length());
  const std::size_t further = size() - program_.instructions.size();
  if (n >= end + further) return n - further;
  while (n >= end) n -= length;
  return n;
}

// Of the copy that follows so far behind the one that stands for all.
Span StepSpans::copied(std::size_t in_copy, std::int64_t copy) const {
  const Span& span = plain_[copies_begin_ - count_ + in_copy];
  const auto begin = static_cast<std::size_t>(program_.repetition.begin);
  const std::int64_t host = copy * host_ns_;
  const std::int64_t work =
      runs_on_stream(program_.instructions[begin + in_copy].kind) ? copy * stream_ns_ : host;
  return {span.issue + host, span.start + work, span.end + work};
}

}  // namespace foreshard::simulator
