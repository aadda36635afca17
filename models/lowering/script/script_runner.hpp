// Runs scripts at their places in the model: slots become buffers, parameters those that the sharding
// runtime gathered, actions instructions.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "models/lowering/script/hook_walk.hpp"
#include "models/lowering/script/script.hpp"

namespace foreshard::lowering {

// A place in the model at which a segment stands.
struct Placement {
  ModuleId base = 0;              // module that the segment's paths are relative to
  std::vector<ModuleId> modules;  // by the segment's module index
};
// Aborts where the model lacks a module that the segment names.
Placement place(const Segment& segment, const ModuleTree& tree, ModuleId base);

// A segment at its place, with the tensors that are alive: by slot, kNone where there is none.
struct Frame {
  const Segment* segment = nullptr;
  const Placement* place = nullptr;
  std::vector<BufferId> live;

  BufferId& operator[](Slot slot) { return live[static_cast<std::size_t>(slot)]; }
  BufferId take(Slot slot) { return std::exchange(live[static_cast<std::size_t>(slot)], kNone); }
};

class ScriptRunner {
 public:
  ScriptRunner(const Job& job, Emitter& emit, ShardingRuntime& runtime);

  // Prepares the cost keys of a segment's scripts.
  static void bind(Segment& segment, Emitter& emit);

  std::array<BufferId, static_cast<std::size_t>(Shared::kCount)> shared{};
  BufferId& operator[](Shared which) { return shared[static_cast<std::size_t>(which)]; }

  // `elsewhere` is what an action does that concerns more than the script: recompute, leave_autocast.
  void run(Frame& frame, const Script& script, HookWalk& walk,
           const std::function<void()>& elsewhere = {});

 private:
  void allocate(Frame& frame, Slot slot);
  void allocate_workspace(Shared which);
  void launch(const Frame& frame, const Script& script, const Launch& launch);
  BufferId resolve(const Frame& frame, const Operand& operand) const;
  ParameterId parameter(const Frame& frame, const ParameterRef& ref) const;

  const Job& job_;
  Emitter& emit_;
  ShardingRuntime& runtime_;
};

}  // namespace foreshard::lowering
