// Walks the module tree the way a forward or a backward does and fires the sharding runtime's hooks
// when a unit's first module is entered and its last one left.
#pragma once

#include <vector>

#include "models/lowering/segment_runner.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

class HookWalk final : public ModuleWalk {
 public:
  enum class Mode : std::uint8_t { forward, backward, recompute };

  // Starts below `base`, whose own hooks the walk leaves alone (recompute), or at the root.
  HookWalk(const Job& job, Emitter& emit, Fsdp2& runtime, Mode mode, ModuleId base = kNone);

  void go_to(ModuleId module) override;
  void finish();

 private:
  void enter(ModuleId module);
  void leave(ModuleId module);
  bool contains(ModuleId above, ModuleId module) const;

  const Job& job_;
  Emitter& emit_;
  Fsdp2& runtime_;
  Mode mode_;
  std::vector<ModuleId> open_;      // modules entered and not left, outermost first
  std::size_t bottom_;              // of them, those that are not ours to leave
  std::vector<UnitId> unit_of_;     // unit whose hooks stand on the module
  std::vector<UnitId> manager_of_;  // unit that manages the module's parameters
  // Modules of each unit: those that a walk can enter (an activation's operator is its parent's),
  // and how many were entered and left.
  std::vector<int> members_, entered_, left_;
};

}  // namespace foreshard::lowering
