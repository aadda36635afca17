#include "models/program/check_program.hpp"

#include <optional>

#include "models/base/units.hpp"

namespace foreshard {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1}
                                   << 40;  // of a buffer: sums of them stay in 64 bits
constexpr std::int64_t kMaxRanks = 10'000'000;
constexpr std::int64_t kMostLaunches = 1'000'000'000;
constexpr std::size_t kMaxRows = 256;  // that a byte counts

bool is_work(Kind kind) {
  return kind == Kind::launch || kind == Kind::host_compute || kind == Kind::collective ||
         kind == Kind::copy;
}

class Check {
 public:
  Check(const RankProgram& program, const std::string& file, const std::string& position)
      : program_(program), file_(file), root_(position + ".") {}

  Result<void> run() {
    tables();
    buffers();
    for (std::size_t n = 0; n < program_.programs.size(); ++n) step(n);
    if (!error_) lifetimes();
    if (error_) return tl::unexpected(*error_);
    return {};
  }

 private:
  void wrong(const std::string& field, const std::string& message) {
    if (!error_) error_ = Error{file_, root_ + position_ + field, message};
  }

  void expect_between(const char* field, std::int64_t value, std::int64_t least,
                      std::int64_t most) {
    if (value >= least && value <= most) return;
    wrong(field, "is " + std::to_string(value) + "; expected " + std::to_string(least) + " to " +
                     std::to_string(most));
  }

  // `table` is what its rows are, in the plural.
  void expect_row(const char* field, std::int64_t row, std::size_t rows, const char* table) {
    if (row >= 0 && row < static_cast<std::int64_t>(rows)) return;
    wrong(field, "is " + std::to_string(row) + "; expected a row of the table of " + table +
                     ", which has " + std::to_string(rows));
  }
  void expect_row_or_none(const char* field, std::int64_t row, std::size_t rows,
                          const char* table) {
    if (row != kNone) expect_row(field, row, rows, table);
  }

  void expect_rows(const char* table, std::size_t rows, std::size_t least, std::size_t most) {
    expect_between(table, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(least),
                   static_cast<std::int64_t>(most));
  }

  void tables() {
    expect_rows("number of streams", program_.streams.size(), 1, kMaxRows);
    expect_rows("number of groups", program_.groups.size(), 0, kMaxRows);
    expect_rows("number of operators", program_.operators.size(), 0, kMaxOperators);
    for (std::size_t g = 0; g < program_.groups.size(); ++g) {
      position_ = "groups[" + std::to_string(g) + "].";
      const GroupInfo& group = program_.groups[g];
      expect_between("ranks", group.ranks, 1, kMaxRanks);
      expect_between("stride", group.stride, 1, kMaxRanks);
      expect_between("ranks x stride", std::int64_t{group.ranks} * group.stride, 1, kMaxRanks);
      expect_between("first", group.first, 0, kMaxRanks);
    }
    for (std::size_t o = 0; o < program_.operators.size(); ++o) {
      position_ = "operators[" + std::to_string(o) + "].";
      expect_between("launches", program_.operators[o].launches, 1, kMostLaunches);
    }
    for (std::size_t k = 0; k < program_.cost_keys.size(); ++k) {
      position_ = "cost_keys[" + std::to_string(k) + "]";
      for (const std::int64_t dim : program_.cost_keys[k].dims) {
        expect_between("", dim, 0, kMaxBytes);
      }
    }
    position_.clear();
    if (program_.programs.empty()) return wrong("steps", "is empty; expected a set-up, then steps");
    expect_rows("closing", program_.closing, 0, program_.programs.size() - 1);
    const auto steps = static_cast<std::int64_t>(program_.programs.size() - program_.closing);
    constexpr std::int64_t kMostSteps = 1'000'000'000'000;
    expect_between(
        "cycle", program_.cycle, 1,
        steps > RankProgram::kMostOfCycle ? kMostSteps : std::max<std::int64_t>(1, steps - 1));
    for (const auto& [made, left] : program_.carried) {
      position_ = "carried";
      expect_row("", made, program_.buffers.size(), "buffers");
      expect_row("", left, program_.buffers.size(), "buffers");
    }
    position_.clear();
  }

  void buffers() {
    for (std::size_t b = 0; b < program_.buffers.size() && !error_; ++b) {
      const Buffer& buffer = program_.buffers[b];
      position_ = "buffers[" + std::to_string(b) + "].";
      expect_between("bytes", buffer.bytes, 0, kMaxBytes);
      expect_row("pool", static_cast<std::int64_t>(buffer.pool), program_.streams.size(),
                 "streams");
      expect_row_or_none("unit", buffer.unit, program_.units.size(), "units");
      expect_row_or_none("owner", buffer.owner, program_.name_count(), "names");
      expect_row_or_none("role", buffer.role, program_.name_count(), "names");
    }
  }

  void step(std::size_t n) {
    const Program& step = program_.programs[n];
    const std::string in = "steps[" + std::to_string(n) + "].";
    position_ = in;
    expect_between("events", step.events, 0, static_cast<std::int64_t>(step.instructions.size()));
    for (std::size_t o = 0; o < step.operands.size() && !error_; ++o) {
      expect_row("operands", step.operands[o], program_.buffers.size(), "buffers");
    }
    for (std::size_t i = 0; i < step.instructions.size() && !error_; ++i) {
      position_ = in + "instructions[" + std::to_string(i) + "].";
      instruction(step, step.instructions[i]);
    }
  }

  void instruction(const Program& step, const Instruction& i) {
    expect_row("stream", static_cast<std::int64_t>(i.stream), program_.streams.size(), "streams");
    expect_row_or_none("unit", i.unit, program_.units.size(), "units");
    expect_row_or_none("module", i.module, program_.tree.modules.size(), "modules");
    expect_between("micro_step", i.micro_step, 0, INT16_MAX);
    if (targets_buffer(i.kind)) {
      expect_row("target", i.target, program_.buffers.size(), "buffers");
    } else if (targets_event(i.kind)) {
      expect_row("target", i.target, static_cast<std::size_t>(step.events), "events");
    } else if (i.kind == Kind::range_begin || i.kind == Kind::range_end) {
      expect_row("target", i.target, program_.name_count(), "names");
    } else if (i.kind == Kind::collective) {
      expect_row("group", static_cast<std::int64_t>(i.group), program_.groups.size(), "groups");
    }
    if (is_work(i.kind)) return work(step, i);
    if (i.cost_key != kNone) wrong("cost_key", "belongs to no work; expected none");
    if (i.op != kNone) wrong("operator", "belongs to no work; expected none");
    if (i.reads != 0 || i.writes != 0) wrong("operands", "belong to no work; expected none");
  }

  void work(const Program& step, const Instruction& i) {
    expect_row("cost_key", i.cost_key, program_.cost_keys.size(), "cost keys");
    expect_row_or_none("operator", i.op, program_.operators.size(), "operators");
    const auto count = static_cast<std::int64_t>(step.operands.size());
    expect_between("reads", i.reads, 0, count);
    expect_between("writes", i.writes, 0, count);
    expect_between("operands", i.operands, 0, count - i.reads - i.writes);
    if (error_) return;
    const Operator op = program_.cost_keys[static_cast<std::size_t>(i.cost_key)].op;
    const bool is_of_kind = i.kind == Kind::collective ? is_collective(op)
                            : i.kind == Kind::copy     ? is_copy(op)
                                                       : !is_collective(op) && !is_copy(op);
    if (is_of_kind) return;
    wrong("cost_key", "is of " + std::string(name(op)) + "; expected an operator of kind " +
                          std::string(name(i.kind)));
  }

  // What repeats must also find what it needs after itself: two cycles of it, whose steps that are alike
  // stand for each other.
  void lifetimes() {
    is_allocated_.assign(program_.buffers.size(), false);
    const std::size_t begin = program_.steady_begin(), steps_end = begin_of_closing();
    for (std::size_t n = 0; n < begin; ++n) {
      lifetimes(n);
      carry();
    }
    const std::int64_t cycle = program_.cycle, first = static_cast<std::int64_t>(begin);
    const std::int64_t last = steps_end > 1 ? first + 2 * cycle - 1 : first;
    for (std::int64_t step = first; step <= last && !error_;) {
      lifetimes(program_.number_of(step));
      carry();
      const std::int64_t in_cycle = step % cycle;
      step += in_cycle < RankProgram::kMostOfCycle ? 1 : cycle - in_cycle;
    }
    for (std::size_t n = steps_end; n < program_.programs.size(); ++n) lifetimes(n);
  }

  std::size_t begin_of_closing() const { return program_.programs.size() - program_.closing; }

  void carry() {
    for (const auto& [made, left] : program_.carried) {
      if (error_ || !is_allocated_[static_cast<std::size_t>(made)]) continue;
      is_allocated_[static_cast<std::size_t>(left)] = is_allocated_[static_cast<std::size_t>(made)];
      is_allocated_[static_cast<std::size_t>(made)] = false;
    }
  }

  void lifetimes(std::size_t n) {
    const auto& instructions = program_.programs[n].instructions;
    for (std::size_t i = 0; i < instructions.size() && !error_; ++i) {
      const Kind kind = instructions[i].kind;
      if (!targets_buffer(kind)) continue;
      position_ = "steps[" + std::to_string(n) + "].instructions[" + std::to_string(i) + "].target";
      const auto buffer = static_cast<std::size_t>(instructions[i].target);
      const bool allocates = kind == Kind::alloc;
      if (is_allocated_[buffer] == allocates) {
        wrong("", allocates ? "is allocated already; expected a buffer that is not"
                            : "is not allocated; expected a buffer that is");
      }
      if (allocates && program_.buffers[buffer].bytes == 0) {
        wrong("", "has no bytes; expected a buffer that has");
      }
      if (kind != Kind::record_stream) is_allocated_[buffer] = allocates;
    }
  }

  const RankProgram& program_;
  const std::string& file_;
  const std::string root_;  // what positions begin with
  std::string position_;
  std::vector<bool> is_allocated_;  // by buffer
  std::optional<Error> error_;
};

}  // namespace

Result<void> check_program(const RankProgram& program, const std::string& file,
                           const std::string& position) {
  return Check(program, file, position).run();
}

}  // namespace foreshard
