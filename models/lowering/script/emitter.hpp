// Appends instructions to a program. The emitter keeps what consecutive instructions share (phase,
// micro-step, unit, module), so that the lowering reads like the host code it describes.
#pragma once

#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "models/base/assertion.hpp"
#include "models/lowering/script/later_step.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::lowering {

// Words that buffers are called by besides module and parameter names.
enum class Role : std::uint8_t {
  none,
  shard,
  master_shard,
  exp_avg,
  exp_avg_sq,
  flat_cast,
  device_copy,
  all_gather_output,
  unsharded,
  kept_slice,
  gradient,
  accumulated_gradient,
  reduce_scatter_input,
  reduce_scatter_output,
  sharded_gradient,
  partial_reduction,
  host_gradient,
  workspace,
  scratch,
  rope_table,
  tokens,
  targets,
  attention_mask,
  staging,
  loss,
  lse,
  logits,
  norms,
  clip,
  host_copy,
  activation,
  activation_gradient,
  flat_gradient,  // from here on of single runtimes and optimizers
  bucket,
  momentum_buffer,
  kCount
};
std::string_view name(Role role);

// Named ranges, spelt as PyTorch's profiler annotations are.
enum class Range : std::uint8_t {
  step,
  root_pre_forward,
  pre_forward,
  all_gather,
  all_gather_copy_out,
  post_forward,
  pre_backward,
  backward_prefetch,
  post_backward_reshard,
  post_backward_accumulate,
  post_backward_reduce,
  root_post_backward_callback,
  forward,
  backward,
  recompute,
  optimizer,
  fsdp1_root_pre_forward,
  fsdp1_pre_forward,
  fsdp1_pre_forward_prefetch,
  fsdp1_post_forward,
  fsdp1_pre_backward,
  fsdp1_pre_backward_prefetch,
  fsdp1_post_backward,
  fsdp1_post_backward_prefetch,
  fsdp1_rate_limiter,
  kCount
};

class Emitter {
 public:
  Emitter(RankProgram& program, const ModuleTree& tree);

  // All that follows goes to this program.
  void begin(Program& target);

  // What is emitted while the returned object lives is done in the first step alone.
  class OnlyOnce {
   public:
    explicit OnlyOnce(Emitter& emitter) : emitter_(emitter), begin_(emitter.position()) {}
    ~OnlyOnce() { emitter_.once_.push_back({begin_, emitter_.position()}); }
    OnlyOnce(const OnlyOnce&) = delete;
    OnlyOnce& operator=(const OnlyOnce&) = delete;

   private:
    Emitter& emitter_;
    ProgramPosition begin_;
  };
  OnlyOnce only_once() { return OnlyOnce(*this); }
  // The step after the one that is complete in `first`, which was the last to begin.
  void repeat(const Program& first, Program& next) const {
    append_later_step(program_, first, begin_, once_, next);
  }

  // What is emitted in between is done `more` times again, and was emitted once already just before.
  void begin_repetition();
  void end_repetition(int more);

  // What follows belongs to this phase and micro-step.
  void set_phase(Phase phase) { next_.phase = phase; }
  void set_micro_step(int number) { next_.micro_step = narrow<std::int16_t>(number); }
  Phase phase() const { return next_.phase; }
  // And to this unit and module.
  void focus(UnitId unit, ModuleId module) {
    next_.unit = unit;
    next_.module = module;
  }
  // What follows belongs to the step as a whole.
  void focus_on_step() { focus(kNone, 0); }
  UnitId unit() const { return next_.unit; }

  struct BufferSpec {
    std::int64_t bytes;
    Category category;
    Role role;
    NameId owner = kNone;  // the current module when absent
    Stream pool = Stream::compute;
    bool on_host = false;
    bool persistent = false;
  };
  BufferId declare(const BufferSpec& spec) {
    const NameId owner = spec.owner == kNone ? module_name(next_.module) : spec.owner;
    program_.buffers.push_back({spec.bytes, spec.on_host, spec.persistent, spec.pool, spec.category,
                                next_.unit, owner, role_name(spec.role)});
    return narrow<BufferId>(program_.buffers.size() - 1);
  }
  // One more of that kind.
  BufferId declare_like(BufferId id) {
    program_.buffers.push_back(Buffer(buffer(id)));
    return narrow<BufferId>(program_.buffers.size() - 1);
  }
  const Buffer& buffer(BufferId id) const { return program_.buffers[static_cast<std::size_t>(id)]; }
  BufferId allocate(const BufferSpec& spec) {
    const BufferId buffer = declare(spec);
    if (spec.bytes > 0) append(Kind::alloc, spec.pool, buffer);
    return buffer;
  }
  // One that was declared, or freed since: a step may free what the one before it allocated.
  void allocate(BufferId id) {
    if (buffer(id).bytes > 0) append(Kind::alloc, buffer(id).pool, id);
  }
  void free(BufferId id) {
    if (buffer(id).bytes > 0) append(Kind::free, buffer(id).pool, id);
  }

  // What is in `made` where the step ends is for the next one to free, as `left`.
  void carry(BufferId made, BufferId left) { program_.carried.push_back({made, left}); }

  CostKeyId intern(const CostKey& key);
  const CostKey& key(CostKeyId id) const {
    return program_.cost_keys[static_cast<std::size_t>(id)];
  }

  // An operator that is not of our own, by its name; "": none.
  OperatorId intern_operator(std::string_view name);

  using Buffers = std::span<const BufferId>;
  void launch(Stream stream, CostKeyId key, Buffers reads, Buffers writes, int aux = 0);
  void launch(Stream stream, CostKeyId key, OperatorId op, Buffers reads, Buffers writes);
  void launch(Stream stream, const CostKey& key, Buffers reads, Buffers writes, int aux = 0) {
    launch(stream, intern(key), reads, writes, aux);
  }
  void launch(Stream stream, const CostKey& key, std::initializer_list<BufferId> reads,
              std::initializer_list<BufferId> writes, int aux = 0) {
    launch(stream, intern(key), Buffers(reads.begin(), reads.size()),
           Buffers(writes.begin(), writes.size()), aux);
  }
  // Of operands for which `buffer_of` finds the buffers.
  template <typename Operands, typename BufferOf>
  void launch(Stream stream, CostKeyId key, OperatorId op, const Operands& reads,
              const Operands& writes, const BufferOf& buffer_of) {
    append_work(Kind::launch, stream, key, reads.size(), writes.size()).op = op;
    for (const auto& operand : reads) target_->operands.push_back(buffer_of(operand));
    for (const auto& operand : writes) target_->operands.push_back(buffer_of(operand));
  }
  void host_compute(const CostKey& key, Buffers reads, Buffers writes, int aux = 0);
  // Reductions sum, or average over the group.
  void collective(Stream stream, Group group, const CostKey& key, BufferId input, BufferId output,
                  bool averages = false);
  void copy(Stream stream, Operator direction, std::int64_t bytes, BufferId from, BufferId to);

  EventId record(Stream stream) {
    append(Kind::record_event, stream, target_->events);
    return target_->events++;
  }
  void wait(Stream stream, EventId event) { append(Kind::wait_event, stream, event); }
  void host_wait(EventId event) { append(Kind::host_wait, Stream::compute, event); }
  // The allocator keeps a buffer, once it is freed, until `stream` has passed the free.
  void record_stream(BufferId buffer, Stream stream);
  // `stream` waits for all that has been issued on `other` so far.
  void wait_for(Stream stream, Stream other) { wait(stream, record(other)); }

  // Opens a range for the lifetime of the returned object.
  class OpenRange {
   public:
    OpenRange(Emitter& emitter, Range range, UnitId of_unit);
    ~OpenRange();
    OpenRange(const OpenRange&) = delete;
    OpenRange& operator=(const OpenRange&) = delete;

   private:
    Emitter& emitter_;
    NameId name_;
  };
  OpenRange range(Range range, UnitId of_unit = kNone) { return OpenRange(*this, range, of_unit); }

  NameId module_name(ModuleId id) const { return id; }
  NameId parameter_name(ParameterId id) const { return parameters_begin_ + id; }

 private:
  ProgramPosition position() const {
    return {target_->instructions.size(), target_->operands.size(), program_.buffers.size()};
  }
  Instruction& append(Kind kind, Stream stream, std::int32_t target = kNone) {
    Instruction& out = target_->instructions.emplace_back(next_);
    out.kind = kind;
    out.stream = stream;
    out.target = target;
    return out;
  }
  // Whose operands are to follow.
  Instruction& append_work(Kind kind, Stream stream, CostKeyId key, std::size_t reads,
                           std::size_t writes) {
    Instruction& out = append(kind, stream);
    out.cost_key = key;
    out.operands = narrow<std::int32_t>(target_->operands.size());
    out.reads = narrow<std::int32_t>(reads);
    out.writes = narrow<std::int32_t>(writes);
    return out;
  }
  Instruction& append_work(Kind kind, Stream stream, CostKeyId key, Buffers reads, Buffers writes);
  NameId range_name(Range range, UnitId of_unit);
  NameId role_name(Role role) {
    const NameId name = roles_[static_cast<std::size_t>(role)];
    return name == kNone ? add_role(role) : name;
  }
  NameId add_role(Role role);
  std::string& add_name();
  CostKeyId found_or_added(const CostKey& key);
  CostKeyId& place_of(const CostKey& key);

  RankProgram& program_;
  Program* target_ = nullptr;
  ProgramPosition begin_;             // of the target
  std::vector<ProgramStretch> once_;  // of the target: what is in no later step
  Instruction next_;                  // what all that follow have in common
  std::vector<CostKeyId> keys_;       // a table of hashes, at most half full; kNone: free
  std::array<CostKeyId, static_cast<std::size_t>(Operator::kCount)> last_keys_;  // by operator
  std::array<OperatorId, 64> last_operators_;  // by a hash of their names
  using RangeNames = std::array<NameId, static_cast<std::size_t>(Range::kCount)>;
  std::vector<RangeNames> ranges_;  // of no unit, of unit 0, of unit 1, ...; kNone: not used yet
  std::vector<std::string> spare_names_;  // of the program before, whose memory new ones take over
  NameId parameters_begin_;
  std::array<NameId, static_cast<std::size_t>(Role::kCount)> roles_;  // kNone: not used yet
};

}  // namespace foreshard::lowering
