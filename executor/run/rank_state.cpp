#include "executor/run/rank_state.hpp"

namespace foreshard::executor {

// The optimizer's instructions name everything: shards, then exp_avg, then exp_avg_sq, in group order.
RankState::RankState(const RankProgram& program) {
  static constexpr ValueRole kRoles[] = {ValueRole::parameter, ValueRole::exp_avg,
                                         ValueRole::exp_avg_sq};
  const std::size_t steps_end = program.programs.size() - program.closing;
  const Program& steady = program.programs[steps_end - 1];
  for (const Instruction& i : steady.instructions) {
    if (i.cost_key == kNone) continue;
    const CostKey& key = program.cost_keys[static_cast<std::size_t>(i.cost_key)];
    if (key.op != Operator::adamw && key.op != Operator::sgd) continue;
    const auto& shards = program.units[static_cast<std::size_t>(i.unit)].parameters;
    const auto writes = steady.writes(i);
    for (std::size_t w = 0; w < writes.size(); ++w) {
      const std::size_t role = w / shards.size();
      by_buffer_[writes[w]] = values_.size();
      values_.push_back({&shards[w % shards.size()], kRoles[role],
                         role == 0 ? key.dtype : key.dtype3, writes[w]});
    }
  }
  if (program.closing == 0) return;
  for (Value& v : values_) {
    if (program.buffers[static_cast<std::size_t>(v.buffer)].on_host) v.on_host = v.buffer;
  }
  for (const Program& closing : std::span(program.programs).subspan(steps_end)) {
    for (const Instruction& i : closing.instructions) {
      if (i.kind != Kind::copy) continue;
      values_[by_buffer_.at(closing.reads(i)[0])].on_host = closing.writes(i)[0];
    }
  }
}

const RankState::Value* RankState::find(BufferId buffer) const {
  const auto found = by_buffer_.find(buffer);
  return found == by_buffer_.end() ? nullptr : &values_[found->second];
}

std::span<const std::byte> RankState::contents(const Value& value, const RankMemory& memory) {
  return value.on_host == kNone ? std::span<const std::byte>() : memory.bytes(value.on_host);
}

std::vector<CheckpointValue> RankState::checkpoint_values(const RankMemory& memory) const {
  std::vector<CheckpointValue> out;
  for (const Value& v : values_) {
    out.push_back({*v.shard, v.role, v.type, contents(v, memory)});
  }
  return out;
}

}  // namespace foreshard::executor
