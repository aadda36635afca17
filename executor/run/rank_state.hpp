// Which buffers of a rank's program hold its parameters and optimizer states, for checkpoints and
// exports.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "executor/data/checkpoint.hpp"
#include "executor/run/rank_memory.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

class RankState {
 public:
  explicit RankState(const RankProgram& program);

  struct Value {
    const ParameterShard* shard = nullptr;
    ValueRole role = ValueRole::parameter;
    DType type = DType::fp32;
    BufferId buffer = kNone;
    // Where the closing programs leave it for the host; none without them.
    BufferId on_host = kNone;
  };
  const std::vector<Value>& values() const { return values_; }
  const Value* find(BufferId buffer) const;

  // A value as the closing programs left it for the host; empty where it has no elements.
  static std::span<const std::byte> contents(const Value& value, const RankMemory& memory);

  // What a checkpoint holds of this rank, once its closing programs have run.
  std::vector<CheckpointValue> checkpoint_values(const RankMemory& memory) const;

 private:
  std::vector<Value> values_;
  std::unordered_map<BufferId, std::size_t> by_buffer_;
};

}  // namespace foreshard::executor
