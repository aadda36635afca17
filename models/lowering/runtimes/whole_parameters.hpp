// The parameters of a model as they stand on the device while it is set up, before they are sharded; under
// DDP for good.
#pragma once

#include <vector>

#include "models/lowering/script/emitter.hpp"
#include "models/lowering/script/sharding_runtime.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

class WholeParameters {
 public:
  // Those that stay are persistent.
  WholeParameters(const Job& job, Emitter& emit, Role role, bool stay);

  BufferId operator[](ParameterId parameter) const {
    return wholes_[static_cast<std::size_t>(parameter)];
  }
  std::vector<BufferId> of(UnitId unit) const;

  // Of one module; a tied one's comes with the first of its modules.
  void allocate(ModuleId module);
  // nn.Module.to() of a model on the host.
  void move_to_device(const ShardingRuntime::ModuleBuffers& buffers_of);
  // A model that is made on the device, or there by to_empty(): tied weights take storage each until
  // tie_weights() is called.
  void make_on_device(const ShardingRuntime::ModuleBuffers& buffers_of);

 private:
  BufferId made(ParameterId parameter, ModuleId module);

  const Job& job_;
  Emitter& emit_;
  const Role role_;
  const bool stay_;
  std::vector<BufferId> wholes_;  // by ParameterId
  std::vector<UnitId> unit_of_;   // likewise
};

}  // namespace foreshard::lowering
