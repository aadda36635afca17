// What holds memory at a moment, in the words of a training step: shards, unsharded parameters of which
// units, activations of which blocks, logits and loss.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/predict/memory.hpp"

namespace foreshard::simulator {

// Buffers that are one thing to the training step: "optimizer states", the "activations" of blocks
// that hold equally much.
struct HeldMemory {
  std::string what;                 // with the owners: "activations of 32 blocks (1.38 GiB each)"
  std::vector<std::string> owners;  // units or blocks, where it is told apart by them
  std::int64_t bytes = 0;
};

// The largest first. `requester` becomes the row that `requested`, one of `alive`, belongs to.
std::vector<HeldMemory> held_memory(const RankProgram& program,
                                    const std::vector<LiveBuffer>& alive,
                                    const LiveBuffer& requested, std::size_t& requester);

}  // namespace foreshard::simulator
