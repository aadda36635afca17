#include "models/program/unrolled.hpp"

#include "models/base/assertion.hpp"

namespace foreshard {
namespace {

class Unrolling {
 public:
  explicit Unrolling(const RankProgram& program) : program_(program), result_(program) {
    result_.buffers.clear();
    std::size_t taken = 0;
    for (const Program& step : program.programs) {
      const Repetition& r = step.repetition;
      if (r.more == 0) continue;
      take_buffers(taken, static_cast<std::size_t>(r.end_buffer));
      for (std::int32_t copy = 0; copy < r.more; ++copy) {
        take_buffers(static_cast<std::size_t>(r.first_buffer),
                     static_cast<std::size_t>(r.end_buffer));
      }
      taken = static_cast<std::size_t>(r.end_buffer);
    }
    take_buffers(taken, program.buffers.size());
  }

  RankProgram run() {
    for (std::size_t p = 0; p < program_.programs.size(); ++p) {
      unroll(program_.programs[p], result_.programs[p]);
    }
    for (auto& [made, left] : result_.carried) {
      made = renumbered(made);
      left = renumbered(left);
    }
    return std::move(result_);
  }

 private:
  // Buffers from `first` on have other numbers in the full form.
  struct Moved {
    BufferId first = 0;
    std::int32_t by = 0;
  };

  void take_buffers(std::size_t begin, std::size_t end) {
    const auto from = program_.buffers.begin();
    result_.buffers.insert(result_.buffers.end(), from + static_cast<std::ptrdiff_t>(begin),
                           from + static_cast<std::ptrdiff_t>(end));
  }

  BufferId renumbered(BufferId buffer) const {
    BufferId number = buffer;
    for (const Moved& moved : moved_) {
      if (buffer >= moved.first) number += moved.by;
    }
    return number;
  }

  void unroll(const Program& step, Program& full) {
    const Repetition& r = step.repetition;
    full.instructions.clear();
    full.operands.clear();
    full.repetition = {};
    step_ = &step;
    full_ = &full;
    moved_events_ = 0;
    const auto end = static_cast<std::int32_t>(step.instructions.size());
    if (r.more == 0) return add_stretch(0, end);
    FORESHARD_ASSERT(r.begin >= r.length(), "a repetition lacks the copy before it");
    add_stretch(0, r.end);
    for (std::int32_t copy = 1; copy <= r.more; ++copy) {
      for (std::int32_t i = r.begin; i < r.end; ++i) add_copy(i, copy);
    }
    moved_.push_back({r.first_buffer, r.more * r.buffers()});
    moved_events_ = r.more * r.events();
    full.events += moved_events_;
    add_stretch(r.end, end);
  }

  const Instruction& at(std::int32_t number) const {
    return step_->instructions[static_cast<std::size_t>(number)];
  }

  void add_stretch(std::int32_t begin, std::int32_t end) {
    for (std::int32_t i = begin; i < end; ++i) {
      Instruction out = at(i);
      if (targets_buffer(out.kind)) out.target = renumbered(out.target);
      if (targets_event(out.kind) && out.target >= step_->repetition.first_event) {
        out.target += moved_events_;
      }
      add(out, [&](std::size_t operand) {
        return renumbered(step_->operands[operand_of(i) + operand]);
      });
    }
  }

  void add_copy(std::int32_t i, std::int32_t copy) {
    const std::int32_t before = i - step_->repetition.length();
    const Instruction &first = at(before), &second = at(i);
    const Repetition& r = step_->repetition;
    Instruction out = second;
    if (targets_buffer(out.kind)) {
      out.target = buffer_of_copy(first.target, second.target, copy);
    } else if (targets_event(out.kind)) {
      const bool moves = second.target >= r.first_event - r.events();
      if (moves && second.target != first.target) out.target += copy * r.events();
    }
    out.aux += copy * (second.aux - first.aux);
    out.micro_step = static_cast<std::int16_t>(second.micro_step +
                                               copy * (second.micro_step - first.micro_step));
    add(out, [&](std::size_t operand) {
      const BufferId a = step_->operands[operand_of(before) + operand];
      const BufferId b = step_->operands[operand_of(i) + operand];
      return buffer_of_copy(a, b, copy);
    });
  }

  // What stands in a further copy for `second`, where the copy before has `first`: one that each copy
  // makes, that each finds where the one before made it, that all share, or one of a row (the batches).
  BufferId buffer_of_copy(BufferId first, BufferId second, std::int32_t copy) const {
    const Repetition& r = step_->repetition;
    const bool is_made = second != first && second >= r.first_buffer - r.buffers();
    return renumbered(second) + copy * (is_made ? r.buffers() : second - first);
  }

  std::size_t operand_of(std::int32_t i) const { return static_cast<std::size_t>(at(i).operands); }

  template <typename Operand>
  void add(Instruction out, const Operand& operand) {
    const auto operands = static_cast<std::size_t>(out.reads + out.writes);
    if (out.cost_key != kNone) out.operands = narrow<std::int32_t>(full_->operands.size());
    for (std::size_t o = 0; o < operands; ++o) full_->operands.push_back(operand(o));
    full_->instructions.push_back(out);
  }

  const RankProgram& program_;
  RankProgram result_;
  const Program* step_ = nullptr;
  Program* full_ = nullptr;
  std::vector<Moved> moved_;
  std::int32_t moved_events_ = 0;  // of the step, from those of the repetition on
};

}  // namespace

RankProgram unrolled(const RankProgram& program) {
  return Unrolling(program).run();
}

}  // namespace foreshard
