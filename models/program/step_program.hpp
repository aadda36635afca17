// The step program: the exact sequence of instructions the host thread of one rank issues.
//
// A training step is a program: allocate, free, launch a kernel on a stream, start a collective,
// copy, record an event, wait for an event, block the host, open and close a named range. The
// executor interprets it on a real device, the simulator on a modelled one, and the profiler tags
// every recorded event with the instruction that caused it. It is plain data in flat arrays.
//
// A rank's whole run is a list of programs: a set-up, then as many steps as differ (the first creates
// the optimizer's state), of which the last one repeats, then what follows the last step. They share
// one table of buffers, so a buffer created in one keeps its number in the others. Everything else that
// is shared (streams, groups, operators, cost keys, names, units) lives in tables of the RankProgram
// beside them, and instructions hold row numbers.
//
// The host runs ahead of the device: an instruction only *issues* work on its stream, in order. A
// free is ordered after everything issued before it on the buffer's own stream; other streams that
// still use the buffer must have been waited for, which is what the event instructions are for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/device_traits.hpp"
#include "models/base/units.hpp"
#include "models/program/operators.hpp"
#include "models/program/streams.hpp"
#include "models/sharding/places.hpp"

namespace foreshard {

enum class Phase : std::uint8_t {
  setup,
  forward,
  loss,
  recompute,
  backward,
  optimizer,
  report,
  evaluation,
  kCount
};
std::string_view name(Phase phase);

// What a buffer holds; the categories of memory reports.
enum class Category : std::uint8_t {
  parameters,
  gradients,
  optimizer_states,
  unsharded_parameters,
  unsharded_gradients,
  all_gather,
  reduce_scatter,
  activations,
  temporaries,
  inputs,
  workspaces,
  kCount
};
std::string_view name(Category category);

enum class Kind : std::uint8_t {
  alloc,         // buffer `target` from the pool of `stream` (host buffers: from the host)
  free,          // buffer `target`
  launch,        // kernel `cost_key.op` on `stream`
  host_compute,  // the same, done by the host thread itself, which waits for nothing but itself
  collective,  // on `stream`, over `group`; operands: input and output, in place where they are one
  copy,        // `cost_key.op` is the direction; on `stream`
  record_event,   // event `target` on `stream`
  wait_event,     // `stream` waits for event `target`
  host_wait,      // the host blocks until event `target` is reached
  record_stream,  // buffer `target` is also used by `stream`: its free is deferred (FSDP1)
  empty_cache,
  range_begin,  // named range `target` (see RankProgram::name)
  range_end,
};
constexpr int kKinds = static_cast<int>(Kind::range_end) + 1;
std::string_view name(Kind kind);

// What an instruction's `target` is: a row of the table of buffers, or the number of an event.
constexpr bool targets_buffer(Kind kind) {
  return kind == Kind::alloc || kind == Kind::free || kind == Kind::record_stream;
}
constexpr bool targets_event(Kind kind) {
  return kind == Kind::record_event || kind == Kind::wait_event || kind == Kind::host_wait;
}

using BufferId = std::int32_t;
using EventId = std::int32_t;
using CostKeyId = std::int32_t;
using NameId = std::int32_t;
using OperatorId = std::int16_t;
constexpr std::size_t kMaxOperators = 1 << 15;  // that an OperatorId counts

// An operator of somebody else's program. What it costs is described by its cost key, of the operator
// here whose costs follow the same rule: memory_bound, batched_matmul, attention_full and so on.
struct OperatorInfo {
  std::string name;
  bool only_moves_data = false;  // as copies and fills do
  // Launches that share the cost of their key, where several kernels do an operator's work.
  int launches = 1;

  bool operator==(const OperatorInfo&) const = default;
};

struct Buffer {
  std::int64_t bytes = 0;  // requested; 0 is a buffer without memory, never allocated
  bool on_host = false;
  bool persistent = false;        // outlives the step that allocates it
  Stream pool = Stream::compute;  // of the allocation
  Category category = Category::temporaries;
  UnitId unit = kNone;
  NameId owner = kNone;  // module or parameter path, or a word for what has none
  NameId role = kNone;   // what it is to the owner: "rstd", "all-gather output", "exp_avg"
};

struct Instruction {
  Kind kind = Kind::alloc;
  Stream stream = Stream::compute;
  Phase phase = Phase::setup;
  Group group = Group::world;
  std::int16_t micro_step = 0;
  OperatorId op = kNone;  // kNone: that of the cost key
  UnitId unit = kNone;
  std::int32_t target = kNone;  // buffer, event or name
  std::int32_t module = kNone;  // ModuleId the work belongs to
  CostKeyId cost_key = kNone;
  std::int32_t aux = 0;       // slice or slot, see operators.hpp
  std::int32_t operands = 0;  // first operand in Program::operands
  std::int32_t reads = 0;     // operands are reads, then writes
  std::int32_t writes = 0;
};

// A stretch of a program that is written down twice and done more often, as micro-steps are: after
// [begin, end) the same is done `more` times again before the program goes on. Just before stands the
// first copy, as long, and numbers go on from copy to copy as they do between these two: a buffer that
// each copy makes for itself is another one in each (unrolled.hpp).
struct Repetition {
  std::int32_t more = 0;                      // 0: nothing is repeated
  std::int32_t begin = 0, end = 0;            // instructions
  BufferId first_buffer = 0, end_buffer = 0;  // that they make
  EventId first_event = 0, end_event = 0;     // that they record

  std::int32_t length() const { return end - begin; }
  std::int32_t buffers() const { return end_buffer - first_buffer; }
  std::int32_t events() const { return end_event - first_event; }
  // How often the instruction of this number is done.
  std::int64_t times(std::size_t instruction) const {
    const auto number = static_cast<std::int32_t>(instruction);
    return begin <= number && number < end ? 1 + more : 1;
  }
  // Where an instruction stands that is the `number`-th of the unrolled program, and which copy behind
  // the one that is written down last it is of; 0 outside of those.
  struct Written {
    std::int32_t instruction = 0;
    std::int32_t copy = 0;
  };
  Written written(std::int32_t number) const {
    if (more == 0 || number < end) return {number, 0};
    const std::int32_t copy = 1 + (number - end) / length();
    return copy > more ? Written{number - more * length(), 0}
                       : Written{number - copy * length(), copy};
  }
};

struct Program {
  std::vector<Instruction> instructions;
  std::vector<BufferId> operands;
  std::int32_t events = 0;  // number of events used; they start unrecorded in every step
  // Nothing in a program that is to be executed, recorded or shown: that is unrolled.
  Repetition repetition;

  std::span<const BufferId> reads(const Instruction& i) const {
    return {operands.data() + i.operands, static_cast<std::size_t>(i.reads)};
  }
  std::span<const BufferId> writes(const Instruction& i) const {
    return {operands.data() + i.operands + i.reads, static_cast<std::size_t>(i.writes)};
  }
};

// What a rank runs, from its set-up on.
struct RankProgram {
  RankPlace place;
  DeviceTraits device;
  std::vector<StreamInfo> streams;
  std::vector<GroupInfo> groups;
  std::vector<OperatorInfo> operators;  // those that are not of our own
  // 0: the set-up, 1: step 1, and so on as far as steps differ; never empty once it is lowered. The last
  // `closing` of them run once each, after the last step. The last before these run in turn for all further
  // steps, which repeat every `cycle` steps. Of a cycle of more than three steps those between its first
  // and its last, whose number `cycle` divides, are alike and share a program.
  std::vector<Program> programs;
  std::size_t closing = 0;
  std::int64_t cycle = 1;
  static constexpr std::int64_t kMostOfCycle = 3;  // programs
  std::vector<Buffer> buffers;
  // What a step makes for the next one to free: where a step ends, `made` is called `left`, if it is there.
  struct CarriedBuffer {
    BufferId made = kNone, left = kNone;
  };
  std::vector<CarriedBuffer> carried;
  std::vector<CostKey> cost_keys;
  // A name's number counts the tree's modules, then its parameters, then the program's own names.
  ModuleTree tree;
  std::vector<std::string> own_names;
  std::vector<UnitLayout> units;
  std::vector<std::string> warnings;  // settings of the plan that have no effect here

  // Number of the program that a step runs; step 0 is the set-up.
  std::size_t number_of(std::int64_t step) const {
    const std::size_t begin = steady_begin();
    if (static_cast<std::uint64_t>(step) < begin) return static_cast<std::size_t>(step);
    if (cycle <= kMostOfCycle) return begin + (static_cast<std::size_t>(step) - begin) % static_cast<std::size_t>(cycle);
    const std::int64_t in_cycle = step % cycle;
    if (in_cycle == 0) return programs.size() - closing - 1;
    return in_cycle == 1 ? begin : begin + 1;
  }
  // Number of the first program that repeats.
  std::size_t steady_begin() const {
    return programs.size() - closing - static_cast<std::size_t>(std::min(cycle, kMostOfCycle));
  }
  // The same where `step` counts on beyond the last of `steps`, into the closing programs.
  std::size_t number_of(std::int64_t step, std::int64_t steps) const {
    if (step <= steps) return number_of(step);
    return programs.size() - closing + static_cast<std::size_t>(step - steps - 1);
  }
  const Program& step(std::int64_t n) const { return programs[number_of(n)]; }
  // How many of so many steps, the set-up counted, run a program that is no closing one.
  std::int64_t runs_of(std::size_t number, std::int64_t steps) const;

  std::size_t name_count() const {
    return tree.modules.size() + tree.parameters.size() + own_names.size();
  }
  const std::string& name(NameId id) const;  // "" of kNone
  // Of work: what its operator is called, and whether it is a kernel that computes.
  std::string_view operator_name(const Instruction& i) const;
  bool computes(const Instruction& i) const {
    if (i.kind != Kind::launch) return false;
    if (i.op != kNone) return !operators[static_cast<std::size_t>(i.op)].only_moves_data;
    return cost_keys[static_cast<std::size_t>(i.cost_key)].op != Operator::fill_zero;
  }
  const std::string& name(Stream stream) const {
    return streams[static_cast<std::size_t>(stream)].name;
  }
  const std::string& name(Group group) const {
    return groups[static_cast<std::size_t>(group)].name;
  }
};

// "setup", "first", "step 2", ..., "steady", "closing 1", ...: what the numbers of a rank's programs are
// called.
std::string program_name(const RankProgram& program, std::size_t number);

// As reports and traces call it: its path, "root", or nothing for what belongs to no unit.
std::string_view unit_name(const RankProgram& program, UnitId unit);

// A hash of everything a recording must share with a program for instruction numbers to be
// comparable. The same on every machine.
std::uint64_t program_hash(const RankProgram& program);

// Identifies an instruction across plans: "step/micro-step/phase/module path/operator/ordinal",
// where ordinal counts equal prefixes within a step.
std::vector<std::string> stable_keys(const RankProgram& program, const Program& step_program,
                                     std::string_view step_name, const ModuleTree& tree);

// A person's view: numbered lines with streams, sizes and operands; see `foreshard program`.
std::string to_text(const RankProgram& program, const Program& step_program,
                    const ModuleTree& tree);

}  // namespace foreshard
