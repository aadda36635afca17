#include "models/lowering/script/emitter.hpp"

#include <algorithm>
#include <tuple>

#include "models/base/assertion.hpp"

namespace foreshard::lowering {
namespace {

constexpr std::string_view kRoles[] = {"",
                                       "shard",
                                       "master shard",
                                       "exp_avg",
                                       "exp_avg_sq",
                                       "flat cast",
                                       "device copy",
                                       "all-gather output",
                                       "unsharded parameter",
                                       "slice kept after forward",
                                       "gradient",
                                       "accumulated gradient",
                                       "reduce-scatter input",
                                       "reduce-scatter output",
                                       "sharded gradient",
                                       "partial reduction",
                                       "host gradient",
                                       "workspace",
                                       "scratch",
                                       "rope table",
                                       "tokens",
                                       "targets",
                                       "staging",
                                       "loss",
                                       "logsumexp",
                                       "logits",
                                       "norms",
                                       "clip",
                                       "host copy",
                                       "activation",
                                       "activation gradient",
                                       "flat gradient",
                                       "bucket"};
static_assert(std::size(kRoles) == static_cast<std::size_t>(Role::kCount));

constexpr std::string_view kRanges[] = {"step",
                                        "FSDP::root_pre_forward",
                                        "FSDP::pre_forward",
                                        "FSDP::all_gather",
                                        "FSDP::all_gather_copy_out",
                                        "FSDP::post_forward",
                                        "FSDP::pre_backward",
                                        "FSDP::backward_prefetch for",
                                        "FSDP::post_backward_reshard",
                                        "FSDP::post_backward_accumulate",
                                        "FSDP::post_backward_reduce",
                                        "FSDP::root_post_backward_callback",
                                        "forward",
                                        "backward",
                                        "recompute",
                                        "optimizer",
                                        "FullyShardedDataParallel._root_pre_forward",
                                        "FullyShardedDataParallel._pre_forward",
                                        "FullyShardedDataParallel._pre_forward_prefetch",
                                        "FullyShardedDataParallel._post_forward",
                                        "FullyShardedDataParallel._pre_backward_hook",
                                        "FullyShardedDataParallel._pre_backward_prefetch",
                                        "FullyShardedDataParallel._post_backward_hook",
                                        "FullyShardedDataParallel._post_backward_prefetch",
                                        "FullyShardedDataParallel.rate_limiter"};
static_assert(std::size(kRanges) == static_cast<std::size_t>(Range::kCount));

bool do_the_same(const Instruction& a, const Instruction& b) {
  return std::tie(a.kind, a.stream, a.phase, a.group, a.op, a.unit, a.module, a.cost_key, a.reads,
                  a.writes) == std::tie(b.kind, b.stream, b.phase, b.group, b.op, b.unit, b.module,
                                        b.cost_key, b.reads, b.writes);
}

}  // namespace

std::string_view name(Role role) {
  return kRoles[static_cast<std::size_t>(role)];
}

Emitter::Emitter(RankProgram& program, const ModuleTree& tree)
    : program_(program), parameters_begin_(narrow<NameId>(tree.modules.size())) {
  program_.tree = tree;
  roles_begin_ = narrow<NameId>(program_.name_count());
  other_roles_.fill(kNone);
  program_.own_names.assign(std::begin(kRoles), std::begin(kRoles) + kCommonRoles);
}

void Emitter::begin(Program& target) {
  target_ = &target;
  begin_ = position();
  once_.clear();
}

void Emitter::begin_repetition() {
  Repetition& repetition = target_->repetition;
  repetition.begin = narrow<std::int32_t>(target_->instructions.size());
  repetition.first_buffer = narrow<BufferId>(program_.buffers.size());
  repetition.first_event = target_->events;
}

void Emitter::end_repetition(int more) {
  const auto& all = target_->instructions;
  Repetition& repetition = target_->repetition;
  repetition.more = more;
  repetition.end = narrow<std::int32_t>(all.size());
  const auto copy = all.begin() + repetition.begin;
  FORESHARD_ASSERT(repetition.begin >= repetition.length() &&
                       std::equal(copy, all.end(), copy - repetition.length(), do_the_same),
                   "what is repeated was not the same before");
  repetition.end_buffer = narrow<BufferId>(program_.buffers.size());
  repetition.end_event = target_->events;
}

BufferId Emitter::declare(const BufferSpec& spec) {
  Buffer buffer;
  buffer.bytes = spec.bytes;
  buffer.on_host = spec.on_host;
  buffer.persistent = spec.persistent;
  buffer.pool = spec.pool;
  buffer.category = spec.category;
  buffer.unit = unit_;
  buffer.owner = spec.owner == kNone ? module_name(module_) : spec.owner;
  buffer.role = role_name(spec.role);
  program_.buffers.push_back(buffer);
  return narrow<BufferId>(program_.buffers.size() - 1);
}

BufferId Emitter::allocate(const BufferSpec& spec) {
  const BufferId buffer = declare(spec);
  allocate(buffer);
  return buffer;
}

void Emitter::allocate(BufferId buffer) {
  const Buffer& wanted = program_.buffers[static_cast<std::size_t>(buffer)];
  if (wanted.bytes > 0) append(Kind::alloc, wanted.pool, buffer);
}

void Emitter::free(BufferId buffer) {
  const Buffer& freed = program_.buffers[static_cast<std::size_t>(buffer)];
  if (freed.bytes > 0) append(Kind::free, freed.pool, buffer);
}

CostKeyId Emitter::intern(const CostKey& key) {
  const auto [found, added] = keys_.try_emplace(key, narrow<CostKeyId>(program_.cost_keys.size()));
  if (added) program_.cost_keys.push_back(key);
  return found->second;
}

// Programs that do not use the others have the names, and the hash, that they had without them.
NameId Emitter::role_name(Role role) {
  const auto number = static_cast<std::size_t>(role);
  if (number < kCommonRoles) return roles_begin_ + static_cast<NameId>(number);
  NameId& name = other_roles_[number - kCommonRoles];
  if (name == kNone) {
    name = narrow<NameId>(program_.name_count());
    program_.own_names.emplace_back(kRoles[number]);
  }
  return name;
}

Instruction& Emitter::append(Kind kind, Stream stream, std::int32_t target) {
  Instruction out;
  out.kind = kind;
  out.stream = stream;
  out.phase = phase;
  out.micro_step = narrow<std::int16_t>(micro_step);
  out.unit = unit_;
  out.target = target;
  out.module = module_;
  return target_->instructions.emplace_back(out);
}

void Emitter::set_operands(Instruction& instruction, Buffers reads, Buffers writes) {
  auto& operands = target_->operands;
  instruction.operands = narrow<std::int32_t>(operands.size());
  instruction.reads = narrow<std::int32_t>(reads.size());
  instruction.writes = narrow<std::int32_t>(writes.size());
  operands.insert(operands.end(), reads.begin(), reads.end());
  operands.insert(operands.end(), writes.begin(), writes.end());
}

OperatorId Emitter::intern_operator(std::string_view name) {
  if (name.empty()) return kNone;
  auto& operators = program_.operators;
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [name](const OperatorInfo& o) { return o.name == name; });
  if (found != operators.end()) return narrow<OperatorId>(found - operators.begin());
  operators.push_back({std::string(name), false});
  return narrow<OperatorId>(operators.size() - 1);
}

void Emitter::launch(Stream stream, CostKeyId key, OperatorId op, Buffers reads, Buffers writes,
                     int aux) {
  Instruction& out = append(Kind::launch, stream);
  out.op = op;
  out.cost_key = key;
  out.aux = aux;
  set_operands(out, reads, writes);
}

void Emitter::host_compute(const CostKey& key, Buffers reads, Buffers writes, int aux) {
  const CostKeyId id = intern(key);
  Instruction& out = append(Kind::host_compute, Stream::compute);
  out.cost_key = id;
  out.aux = aux;
  set_operands(out, reads, writes);
}

void Emitter::collective(Stream stream, Group group, const CostKey& key, BufferId input,
                         BufferId output, bool averages) {
  const CostKeyId id = intern(key);
  Instruction& out = append(Kind::collective, stream);
  out.group = group;
  out.aux = averages ? 1 : 0;
  out.cost_key = id;
  set_operands(out, Buffers(&input, 1), Buffers(&output, 1));
}

void Emitter::copy(Stream stream, Operator direction, std::int64_t bytes, BufferId from,
                   BufferId to) {
  const CostKeyId id = intern({direction, DType::fp32, DType::fp32, DType::fp32, {bytes}});
  Instruction& out = append(Kind::copy, stream);
  out.cost_key = id;
  set_operands(out, Buffers(&from, 1), Buffers(&to, 1));
}

EventId Emitter::record(Stream stream) {
  append(Kind::record_event, stream, target_->events);
  return target_->events++;
}

void Emitter::wait(Stream stream, EventId event) {
  append(Kind::wait_event, stream, event);
}

void Emitter::host_wait(EventId event) {
  append(Kind::host_wait, Stream::compute, event);
}

void Emitter::record_stream(BufferId buffer, Stream stream) {
  const Buffer& used = program_.buffers[static_cast<std::size_t>(buffer)];
  if (used.bytes > 0 && used.pool != stream) append(Kind::record_stream, stream, buffer);
}

NameId Emitter::range_name(Range range, UnitId of_unit) {
  const auto place = static_cast<std::size_t>(of_unit + 1);
  if (ranges_.size() <= place) {
    RangeNames unnamed;
    unnamed.fill(kNone);
    ranges_.resize(std::max(place, program_.units.size()) + 1, unnamed);
  }
  NameId& name = ranges_[place][static_cast<std::size_t>(range)];
  if (name == kNone) {
    name = narrow<NameId>(program_.name_count());
    const std::string_view what = kRanges[static_cast<std::size_t>(range)];
    const std::string_view of = of_unit == kNone
                                    ? std::string_view()
                                    : program_.units[static_cast<std::size_t>(of_unit)].name;
    std::string& text = program_.own_names.emplace_back();
    text.reserve(what.size() + of.size() + 3);
    text += what;
    if (of.empty()) return name;
    const bool is_prefetch = range == Range::backward_prefetch;
    text += is_prefetch ? " " : " (";
    text += of;
    if (!is_prefetch) text += ')';
  }
  return name;
}

Emitter::OpenRange::OpenRange(Emitter& emitter, Range range, UnitId of_unit)
    : emitter_(emitter), name_(emitter.range_name(range, of_unit)) {
  emitter_.append(Kind::range_begin, Stream::compute, name_);
}

Emitter::OpenRange::~OpenRange() {
  emitter_.append(Kind::range_end, Stream::compute, name_);
}

}  // namespace foreshard::lowering
