// The orders in which PyTorch visits modules while a model is set up: to give them storage, to move them
// to the device, to shard them.
#pragma once

#include <vector>

#include "models/sharding/job.hpp"

namespace foreshard::lowering {

// nn.Module._apply, of to(), to_empty() and the like: children before their parent.
std::vector<ModuleId> post_order(const ModuleTree& tree);

// The units in the order in which they are wrapped: inner ones before those around them.
std::vector<UnitId> wrapping_order(const Job& job);

// By unit the modules that it manages, those of no inner unit.
class ManagedModules {
 public:
  explicit ManagedModules(const Job& job);

  // FSDP2's _get_managed_modules.
  std::vector<ModuleId> depth_first(UnitId unit) const;
  // FSDP1's _move_module_to_device and _get_modules_to_materialize: level by level, of which a
  // CheckpointWrapper is one, and the ModuleDict that holds an adapter's factor.
  std::vector<ModuleId> breadth_first(UnitId unit) const;

 private:
  const Module& module(ModuleId id) const {
    return job_.tree.modules[static_cast<std::size_t>(id)];
  }
  bool is_wrapped(ModuleId id) const { return unit_of_[static_cast<std::size_t>(id)] != kNone; }
  void collect(ModuleId id, std::vector<ModuleId>& out) const;
  bool has_checkpoint_wrapper(const Module& module) const;
  bool is_factor(const Module& module) const;  // of an adapter

  const Job& job_;
  std::vector<UnitId> unit_of_;  // by module: the unit that wraps exactly it
};

}  // namespace foreshard::lowering
