// Issues the operators of a segment: binds slots to buffers, allocates what a node writes when it
// writes it, and frees every tensor after its last use.
#pragma once

#include <functional>
#include <vector>

#include "models/lowering/fsdp2.hpp"
#include "models/lowering/operator_graph.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

// Called when the walk enters and leaves modules; the lowering's skeleton turns them into hooks.
class ModuleWalk {
 public:
  virtual void go_to(ModuleId module) = 0;

 protected:
  ~ModuleWalk() = default;
};

// A segment placed in the model: its modules, their parameters, and the tensors that are alive.
struct PlacedSegment {
  const Segment* segment = nullptr;
  ModuleId base = 0;              // module that the segment's paths are relative to
  std::vector<ModuleId> modules;  // by the segment's module index
  std::vector<BufferId> live;     // by slot; kNone where there is no tensor
};

class SegmentRunner {
 public:
  SegmentRunner(const Job& job, Emitter& emit, Fsdp2& runtime, const PersistentBuffers& persistent);

  // Finds the modules of a segment below `base` and prepares its cost keys.
  static void bind(Segment& segment, Emitter& emit);
  PlacedSegment place(const Segment& segment, ModuleId base) const;

  // Device buffers of the current micro-step's inputs.
  BufferId tokens = kNone, targets = kNone;

  // Forward: frees what `keeps` does not keep after its last use. With `reruns`, only those nodes.
  void forward(PlacedSegment& placed, ModuleWalk& walk, const std::vector<bool>& keeps,
               const std::vector<bool>* reruns = nullptr);

  // Backward. `before_first` is called once the first node's module has been entered, before the
  // node runs: the moment at which a checkpointed block computes its activations again.
  void backward(PlacedSegment& placed, ModuleWalk& walk,
                const std::function<void()>& before_first = {});

 private:
  void launch(PlacedSegment& placed, const Node& node, Stream stream);
  BufferId resolve(PlacedSegment& placed, const Operand& operand, const Node& node, bool is_write);
  ParameterId parameter(const PlacedSegment& placed, const Node& node, bool bias) const;

  const Job& job_;
  Emitter& emit_;
  Fsdp2& runtime_;
  const PersistentBuffers& persistent_;
  std::vector<BufferId> reads_, writes_;  // of the node at hand, kept to save allocations
  std::vector<std::int32_t> last_use_;
};

}  // namespace foreshard::lowering
