// Walks the module tree the way a forward or a backward does and fires the sharding runtime's hooks
// when a unit's first module is entered and its last one left.
#pragma once

#include <vector>

#include "models/lowering/script/emitter.hpp"
#include "models/lowering/script/sharding_runtime.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

// Which hooks stand on which modules: the same for all walks of a job.
class HookTable {
 public:
  explicit HookTable(const Job& job);

  struct UnitHooks {
    int members = 0;  // modules that a walk can enter (an activation's operator is its parent's)
    // The hook after backward sits on the gradient of the unit's inputs. Where there is none (token ids,
    // the rotary embedding, nothing below that trains) units wait for the final callback.
    bool has_input_gradient = true;
    // FSDP1's of a unit that is frozen sits on its input itself (_register_post_backward_reshard_only_hook),
    // whose gradient is a sum where modules beside it are given the same: whole when backward leaves this
    // module. kNone: it is no sum.
    ModuleId waits_for = kNone;
  };
  std::vector<ModuleId> parent_of;  // by module
  std::vector<UnitId> unit_of;      // by module: the unit whose hooks stand on it
  std::vector<UnitId> manager_of;   // by module: the unit that manages its parameters
  // Of modules with hooks: whether the one around it returns what it returns. Hooks before backward stand
  // on outputs, so that the inner one's was registered first.
  std::vector<bool> returns_as_parent;
  std::vector<UnitHooks> units;
};

class HookWalk {
 public:
  enum class Mode : std::uint8_t { forward, backward, recompute };

  HookWalk(const HookTable& hooks, Emitter& emit, ShardingRuntime& runtime);

  // Starts below `base`, whose own hooks the walk leaves alone (recompute), or at the root.
  void begin(Mode mode, ModuleId base = kNone);
  // Leaves what does not contain the module and enters what does, outermost first; backward comes to
  // modules with the same output from the inside.
  void enter(ModuleId module);
  // Leaves the module and what is open inside it.
  void leave(ModuleId module);
  void finish();

 private:
  void entered_since(std::size_t first);  // all that is open from there on
  void entered(ModuleId module);
  void focus(ModuleId module);
  void leave_innermost();
  void left(ModuleId module);
  void run_waiting(ModuleId above);
  ModuleId parent(ModuleId module) const {
    return hooks_.parent_of[static_cast<std::size_t>(module)];
  }
  bool contains(ModuleId above, ModuleId module) const;

  const HookTable& hooks_;
  Emitter& emit_;
  ShardingRuntime& runtime_;
  Mode mode_ = Mode::forward;
  std::vector<ModuleId> open_;  // modules entered and not left, outermost first
  std::size_t bottom_ = 0;      // of them, those that are not ours to leave
  struct Count {
    int entered = 0, left = 0;  // modules of a unit
  };
  std::vector<Count> counts_;    // by unit
  std::vector<UnitId> touched_;  // units whose counts are not zero
  std::vector<UnitId> waiting_;  // left, with hooks that wait for the gradient of their input
};

}  // namespace foreshard::lowering
