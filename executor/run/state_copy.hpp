// A copy of a rank's parameters and optimizer states in memory of the host: a checkpoint is written from it
// while training goes on.
#pragma once

#include <cstddef>
#include <vector>

#include "executor/data/checkpoint.hpp"
#include "executor/device/device.hpp"
#include "executor/run/rank_memory.hpp"
#include "executor/run/rank_state.hpp"

namespace foreshard::executor {

class StateCopy {
 public:
  // Before the device goes.
  StateCopy(Device& device, const RankState& state);
  ~StateCopy();
  StateCopy(const StateCopy&) = delete;
  StateCopy& operator=(const StateCopy&) = delete;

  // By the rank's host thread, behind the work of a step. Throws Aborted.
  void take(const RankMemory& memory, std::int64_t step);
  const std::vector<CheckpointValue>& values() const { return values_; }

 private:
  Device& device_;
  const RankState& state_;
  std::byte* memory_ = nullptr;
  Bytes bytes_;
  std::vector<CheckpointValue> values_;  // as those of the state
};

}  // namespace foreshard::executor
