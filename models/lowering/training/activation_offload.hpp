// offload.activations: what a block keeps goes to the host once its forward is issued, leaves the
// device once the next block's is, and returns one block ahead of its backward. The last block's
// stays.
#pragma once

#include <vector>

#include "models/lowering/script/script_runner.hpp"

namespace foreshard::lowering {

class ActivationOffload {
 public:
  // `layers`: the modules of the blocks; `kept`: by block, the slots that it keeps.
  ActivationOffload(Emitter& emit, const Segment& block, const std::vector<Placement>& layers,
                    std::vector<const std::vector<Slot>*> kept);

  void allocate_host_copies();  // in the set-up
  // `blocks`: the frames of the micro-step at hand.
  void after_forward(std::vector<Frame>& blocks, std::size_t layer);
  void before_backward(std::vector<Frame>& blocks, std::size_t layer);

 private:
  void fetch(Frame& block, std::size_t layer);
  const SlotSpec& spec(Slot slot) const { return block_.slots[static_cast<std::size_t>(slot)]; }
  bool is_last(std::size_t layer) const { return layer + 1 == layers_.size(); }

  struct Copies {
    std::vector<BufferId> host;  // of each kept slot
    EventId on_host = kNone, on_device = kNone;
  };
  Emitter& emit_;
  const Segment& block_;
  const std::vector<Placement>& layers_;
  std::vector<const std::vector<Slot>*> kept_;
  std::vector<Copies> copies_;  // by layer; none of the last one's
};

}  // namespace foreshard::lowering
