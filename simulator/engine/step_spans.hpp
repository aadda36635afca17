// The spans of one step with the instructions that they are of, also where the step's program has a
// repetition: its copies follow one another, and those that only repeat the one before them may be left
// out but for the last few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "simulator/engine/engine.hpp"

namespace foreshard::simulator {

constexpr std::int64_t kEveryCopy = std::numeric_limits<std::int64_t>::max();

class StepSpans {
 public:
  // Of the copies that RankTimeline::repeated leaves out, the last `kept` are there.
  StepSpans(const RankTimeline& timeline, const Program& program, std::size_t step,
            std::int64_t kept);

  std::size_t size() const { return plain_.size() + kept_.size(); }
  const Span& operator[](std::size_t n) const {
    if (n < copies_begin_) return plain_[n];
    if (n >= copies_end()) return plain_[n - kept_.size()];
    return kept_[n - copies_begin_];
  }
  // As it is written down.
  std::size_t instruction(std::size_t n) const {
    return n < written_once_ ? n : instruction_behind(n);
  }
  // Counting every copy.
  std::int64_t full_number(std::size_t n) const {
    const std::int64_t behind =
        n < copies_begin_ ? 0 : left_out_ * static_cast<std::int64_t>(count_);
    return static_cast<std::int64_t>(n) + behind;
  }

  std::int64_t left_out() const { return left_out_; }
  // The kept copies, which follow on those that are left out, and how many spans each has; behind
  // everything where nothing repeats.
  std::size_t copies_begin() const { return copies_begin_; }
  std::size_t copies_end() const { return copies_begin_ + kept_.size(); }
  std::size_t copy_length() const { return count_; }
  // How far the host's times and those of the streams lie apart from copy to copy.
  std::int64_t host_ns() const { return host_ns_; }
  std::int64_t stream_ns() const { return stream_ns_; }

 private:
  std::size_t instruction_behind(std::size_t n) const;
  Span copied(std::size_t in_copy, std::int64_t copy) const;

  const Program& program_;
  std::span<const Span> plain_;   // without the copies that are kept
  std::size_t written_once_ = 0;  // behind it numbers of instructions and spans differ
  std::size_t copies_begin_ = 0, count_ = 0;
  std::vector<Span> kept_;
  std::int64_t left_out_ = 0;
  std::int64_t host_ns_ = 0, stream_ns_ = 0;
};

}  // namespace foreshard::simulator
