#include "models/lowering/script/later_step.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "models/base/assertion.hpp"

namespace foreshard::lowering {
namespace {

class LaterStep {
 public:
  LaterStep(RankProgram& program, const Program& first, const ProgramPosition& begin, Program& next)
      : program_(program), first_(first), next_(next), reached_(begin) {
    const std::size_t end = program.buffers.size();
    FORESHARD_ASSERT(&first != &next && next.instructions.empty(),
                     "a step is repeated into itself");
    number_.resize(begin.buffers);
    std::iota(number_.begin(), number_.end(), 0);  // the set-up's keep theirs
    number_.reserve(end);
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
      i->operands -= i->cost_key != kNone ? left_out_ : 0;
      const bool is_buffer = targets_buffer(i->kind);
      // Looked up in any case: which kind follows which is not to be predicted.
      const BufferId buffer = renumbered(is_buffer ? i->target : 0);
      i->target = is_buffer ? buffer : i->target;
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
  BufferId renumbered(BufferId buffer) const { return number_[static_cast<std::size_t>(buffer)]; }

  RankProgram& program_;
  const Program& first_;
  Program& next_;
  ProgramPosition reached_;
  std::vector<BufferId> number_;  // in the later step, by number in the first
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
