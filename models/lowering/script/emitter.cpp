#include "models/lowering/script/emitter.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

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
                                       "attention mask",
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
                                       "bucket",
                                       "momentum_buffer"};
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
    : program_(program),
      keys_(256, kNone),  // any power of two
      parameters_begin_(narrow<NameId>(tree.modules.size())) {
  constexpr auto kCommon = static_cast<std::size_t>(Role::flat_gradient);
  program_.tree = tree;
  spare_names_.swap(program_.own_names);
  // The first is taken first, whose text is mostly as long as the new one.
  std::reverse(spare_names_.begin(), spare_names_.end());
  last_keys_.fill(kNone);
  last_operators_.fill(kNone);
  roles_.fill(kNone);
  std::iota(roles_.begin(), roles_.begin() + kCommon, narrow<NameId>(program_.name_count()));
  program_.own_names.reserve(spare_names_.size());
  for (std::size_t role = 0; role < kCommon; ++role) add_name() = kRoles[role];
  focus_on_step();
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

CostKeyId Emitter::intern(const CostKey& key) {
  CostKeyId& last = last_keys_[static_cast<std::size_t>(key.op)];  // units are alike
  if (last == kNone || this->key(last) != key) last = found_or_added(key);
  return last;
}

CostKeyId Emitter::found_or_added(const CostKey& key) {
  CostKeyId& id = place_of(key);
  if (id != kNone) return id;
  const CostKeyId added = id = narrow<CostKeyId>(program_.cost_keys.size());
  program_.cost_keys.push_back(key);
  if (2 * program_.cost_keys.size() > keys_.size()) {
    keys_.assign(2 * keys_.size(), kNone);
    for (std::size_t k = 0; k < program_.cost_keys.size(); ++k) {
      place_of(program_.cost_keys[k]) = static_cast<CostKeyId>(k);
    }
  }
  return added;
}

// Where the key's number stands in the table, or belongs.
CostKeyId& Emitter::place_of(const CostKey& key) {
  std::size_t place = CostKeyHash{}(key) & (keys_.size() - 1);
  while (keys_[place] != kNone && this->key(keys_[place]) != key) {
    place = (place + 1) & (keys_.size() - 1);
  }
  return keys_[place];
}

// Programs that do not use the later ones have the names, and the hash, that they had without them.
NameId Emitter::add_role(Role role) {
  NameId& name = roles_[static_cast<std::size_t>(role)];
  name = narrow<NameId>(program_.name_count());
  add_name() = kRoles[static_cast<std::size_t>(role)];
  return name;
}

std::string& Emitter::add_name() {
  std::string& name = program_.own_names.emplace_back();
  if (spare_names_.empty()) return name;
  name.swap(spare_names_.back());
  spare_names_.pop_back();
  name.clear();
  return name;
}

Instruction& Emitter::append_work(Kind kind, Stream stream, CostKeyId key, Buffers reads,
                                  Buffers writes) {
  auto& operands = target_->operands;
  Instruction& out = append_work(kind, stream, key, reads.size(), writes.size());
  for (const BufferId read : reads) operands.push_back(read);
  for (const BufferId write : writes) operands.push_back(write);
  return out;
}

OperatorId Emitter::intern_operator(std::string_view name) {
  if (name.empty()) return kNone;
  auto& operators = program_.operators;
  OperatorId& last = last_operators_[(name.size() + static_cast<unsigned char>(name.back())) %
                                     last_operators_.size()];
  if (last != kNone && operators[static_cast<std::size_t>(last)].name == name) return last;
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [name](const OperatorInfo& o) { return o.name == name; });
  last = narrow<OperatorId>(found - operators.begin());
  if (found == operators.end()) operators.push_back({std::string(name), false});
  return last;
}

void Emitter::launch(Stream stream, CostKeyId key, Buffers reads, Buffers writes, int aux) {
  append_work(Kind::launch, stream, key, reads, writes).aux = aux;
}

void Emitter::launch(Stream stream, CostKeyId key, OperatorId op, Buffers reads, Buffers writes) {
  append_work(Kind::launch, stream, key, reads, writes).op = op;
}

void Emitter::host_compute(const CostKey& key, Buffers reads, Buffers writes, int aux) {
  append_work(Kind::host_compute, Stream::compute, intern(key), reads, writes).aux = aux;
}

void Emitter::collective(Stream stream, Group group, const CostKey& key, BufferId input,
                         BufferId output, bool averages) {
  Instruction& out =
      append_work(Kind::collective, stream, intern(key), Buffers(&input, 1), Buffers(&output, 1));
  out.group = group;
  out.aux = averages ? 1 : 0;
}

void Emitter::copy(Stream stream, Operator direction, std::int64_t bytes, BufferId from,
                   BufferId to) {
  const CostKeyId key = intern({direction, DType::fp32, DType::fp32, DType::fp32, {bytes}});
  append_work(Kind::copy, stream, key, Buffers(&from, 1), Buffers(&to, 1));
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
    std::string& text = add_name();
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
