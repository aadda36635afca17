// Work that a rank's host does itself and that reaches beyond its program: data, weights, optimizer
// states to go on with, gradients to export.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/base/dtype.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

class HostWork {
 public:
  virtual ~HostWork() = default;
  // Fills this rank's shard of a parameter, padded with zeros.
  virtual void initialize_shard(const ParameterShard& shard, DType storage,
                                std::span<std::byte> bytes) = 0;
  virtual void load_batch(std::int64_t step, int micro_step, std::span<std::int32_t> tokens,
                          std::span<std::int32_t> targets) = 0;
  // Whether a resumed run goes on with this optimizer state instead of zeros.
  virtual bool has_state(BufferId state) const = 0;
  // Fills such a state. Called on the stream whose memory it is.
  virtual void restore_state(BufferId state, std::span<std::byte> bytes) = 0;
  // The averaged gradient of a unit before clipping, with the streams idle; see wants_gradients.
  virtual void take_gradient(const UnitLayout& unit, DType type,
                             std::span<const std::byte> gradient) = 0;
  virtual bool wants_gradients(std::int64_t step) const = 0;
};

}  // namespace foreshard::executor
