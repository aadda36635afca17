// A decoder block as PyTorch runs it: forward, forward under checkpointing, recomputation, backward.
#pragma once

#include "models/lowering/script/script.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

// What tells blocks apart.
struct BlockSite {
  bool is_first = false;
  // The lowest block that is checkpointed: its backward is the last to hold what all were called with.
  bool is_first_checkpointed = false;
  bool is_checkpointed = false;
  // FSDP2 casts the tables of angles that a block is called with, where the block is a unit.
  bool is_unit = false;

  bool operator==(const BlockSite&) const = default;
};

Segment eager_block(const Job& job, const BlockSite& site);

}  // namespace foreshard::lowering
