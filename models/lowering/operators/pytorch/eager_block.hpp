// A decoder block as PyTorch runs it: forward, forward under checkpointing, recomputation, backward.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/lowering/operators/pytorch/eager_writer.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

// What tells blocks apart.
struct BlockSite {
  bool is_first = false;
  // The lowest block that autograd turns queries or keys of: its backward is the last to hold the tables
  // of angles that all share.
  bool is_first_turned = false;
  // The lowest block that backward computes again: its backward is the last to hold what all were called with.
  bool is_first_checkpointed = false;
  // The mask that attention is given, and whether the block is the lowest that backward computes again
  // with it: its backward is the last to hold it.
  std::optional<Shared> mask{};
  bool is_first_checkpointed_masked = false;
  bool is_checkpointed = false;
  // FSDP2 casts the tables of angles that a block is called with, where the block is a unit.
  bool is_unit = false;
  // Modules inside the block that FSDP2 wraps, by their paths from there.
  std::vector<std::string> units{};
  // Whether anything below trains, and which of the block's own parameters do.
  bool input_requires_gradient = true;
  bool input_is_leaf = false;  // of the graph
  std::vector<bool> trains{};

  bool operator==(const BlockSite&) const = default;
};

// `block`: one that stands there.
Segment eager_block(const Job& job, const BlockSite& site, GradMode grad, ModuleId block);

}  // namespace foreshard::lowering
