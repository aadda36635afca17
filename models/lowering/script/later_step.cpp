#include "models/lowering/script/later_step.hpp"

#include <algorithm>
#include <limits>

#include "models/base/assertion.hpp"

namespace foreshard::lowering {
namespace {

class LaterStep {
 public:
  LaterStep(RankProgram& program, const Program& first, const ProgramPosition& begin, Program& next)
      : program_(program), first_(first), next_(next), reached_(begin), begin_(begin.buffers) {
    const std::size_t end = program.buffers.size();
    FORESHARD_ASSERT(&first != &next && next.instructions.empty(),
                     "a step is repeated into itself");
    number_.reserve(end - begin.buffers);
    program.buffers.reserve(2 * end - begin.buffers);
    next.instructions.reserve(first.instructions.size());
    next.operands.reserve(first.operands.size());
    next.events = first.events;
  }

  // Goes on to `end` with what is done again, or with what is not.
  void repeat(const ProgramPosition& end) {
    for (std::size_t b = reached_.buffers; b < end.buffers; ++b) {
      number_.push_back(narrow<BufferId>(program_.buffers.size()));
      program_.buffers.push_back(program_.buffers[b]);
    }
    const auto operands =
        std::span(first_.operands).subspan(reached_.operands, end.operands - reached_.operands);
    for (const BufferId operand : operands) next_.operands.push_back(renumbered(operand));
    const auto instructions =
        std::span(first_.instructions)
            .subspan(reached_.instructions, end.instructions - reached_.instructions);
    const auto added = static_cast<std::ptrdiff_t>(next_.instructions.size());
    next_.instructions.insert(next_.instructions.end(), instructions.begin(), instructions.end());
    for (auto i = next_.instructions.begin() + added; i != next_.instructions.end(); ++i) {
      if (i->cost_key != kNone) i->operands -= left_out_;
      if (i->kind == Kind::alloc || i->kind == Kind::free || i->kind == Kind::record_stream) {
        i->target = renumbered(i->target);
      }
    }
    reached_ = end;
  }
  void leave_out(const ProgramPosition& end) {
    first_left_out_ = std::min(first_left_out_, reached_.instructions);
    for (std::size_t b = reached_.buffers; b < end.buffers; ++b) {
      number_.push_back(narrow<BufferId>(b));
    }
    left_out_ += narrow<std::int32_t>(end.operands - reached_.operands);
    reached_ = end;
  }
  // Once all is done that the first step repeats: nothing before the end of that may be left out.
  void take_over(const Repetition& repetition) {
    if (repetition.more == 0) return;
    FORESHARD_ASSERT(first_left_out_ >= static_cast<std::size_t>(repetition.end),
                     "what only the first step does stands in what it repeats");
    next_.repetition = repetition;
    next_.repetition.first_buffer = renumbered(repetition.first_buffer);
    next_.repetition.end_buffer = next_.repetition.first_buffer + repetition.buffers();
  }

 private:
  // Of a buffer of `first`; those of the set-up and those that are not made again keep theirs.
  BufferId renumbered(BufferId buffer) const {
    const auto number = static_cast<std::size_t>(buffer);
    return number < begin_ ? buffer : number_[number - begin_];
  }

  RankProgram& program_;
  const Program& first_;
  Program& next_;
  ProgramPosition reached_;
  std::size_t begin_;             // first buffer of the step
  std::vector<BufferId> number_;  // in the later step, by number from there on
  std::int32_t left_out_ = 0;     // operands
  std::size_t first_left_out_ = std::numeric_limits<std::size_t>::max();  // instruction
};

}  // namespace

void append_later_step(RankProgram& program, const Program& first, const ProgramPosition& begin,
                       std::span<const ProgramStretch> once, Program& next) {
  const ProgramPosition end{first.instructions.size(), first.operands.size(),
                            program.buffers.size()};
  LaterStep step(program, first, begin, next);
  for (const ProgramStretch& stretch : once) {
    step.repeat(stretch.begin);
    step.leave_out(stretch.end);
  }
  step.repeat(end);
  step.take_over(first.repetition);
}

}  // namespace foreshard::lowering
