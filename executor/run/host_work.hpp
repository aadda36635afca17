// Work that a rank's host does itself and that reaches beyond its program: data, weights, optimizer
// states to go on with, gradients to export.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "executor/data/checkpoint.hpp"
#include "executor/device/worker_pool.hpp"
#include "models/base/dtype.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

class HostWork {
 public:
  virtual ~HostWork() = default;
  // Fills this rank's shard of a parameter, padded with zeros; `workers` share the work.
  virtual void initialize_shard(const ParameterShard& shard, DType storage,
                                std::span<std::byte> bytes, WorkerPool& workers) = 0;
  virtual void load_batch(std::int64_t step, int micro_step, std::span<std::int32_t> tokens,
                          std::span<std::int32_t> targets) = 0;
  // Fills this rank's shard of an optimizer state from the checkpoint that the run goes on from.
  virtual void restore_state(const ParameterShard& shard, ValueRole role, DType type,
                             std::span<std::byte> bytes) = 0;
  // The averaged gradient of a unit before clipping.
  virtual void take_gradient(const UnitLayout& unit, DType type,
                             std::span<const std::byte> gradient) = 0;
};

}  // namespace foreshard::executor
