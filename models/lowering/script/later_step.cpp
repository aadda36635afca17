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
    auto& buffers = program_.buffers;
    const std::size_t declared = buffers.size();
    number_to(end, narrow<BufferId>(declared));
    const auto number = [numbers = number_.data()](BufferId buffer) { return numbers[buffer]; };
    buffers.resize(declared + end.buffers - reached_.buffers);
    std::copy(&buffers[reached_.buffers], &buffers[end.buffers], &buffers[declared]);
    const std::size_t named = next_.operands.size();
    next_.operands.resize(named + end.operands - reached_.operands);
    std::transform(first_.operands.begin() + at(reached_.operands),
                   first_.operands.begin() + at(end.operands), next_.operands.begin() + at(named),
                   number);
    const std::size_t added = next_.instructions.size();
    next_.instructions.insert(next_.instructions.end(),
                              first_.instructions.begin() + at(reached_.instructions),
                              first_.instructions.begin() + at(end.instructions));
    for (Instruction& i : std::span(next_.instructions).subspan(added)) {
      i.operands -= i.cost_key != kNone ? left_out_ : 0;
      // Looked up in any case: which kind follows which is not to be predicted.
      const std::int32_t is_buffer = targets_buffer(i.kind) ? -1 : 0;
      i.target = (number(i.target & is_buffer) & is_buffer) | (i.target & ~is_buffer);
    }
    reached_ = end;
  }
  void leave_out(const ProgramPosition& end) {
    first_left_out_ = std::min(first_left_out_, reached_.instructions);
    number_to(end, narrow<BufferId>(reached_.buffers));
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
  static std::ptrdiff_t at(std::size_t position) { return static_cast<std::ptrdiff_t>(position); }
  BufferId renumbered(BufferId buffer) const { return number_[static_cast<std::size_t>(buffer)]; }

  // Numbers the first step's buffers up to there, counting from `from`.
  void number_to(const ProgramPosition& end, BufferId from) {
    number_.resize(end.buffers);
    std::iota(number_.begin() + at(reached_.buffers), number_.end(), from);
  }

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
