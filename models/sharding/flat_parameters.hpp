// FSDP1's flat parameters: all parameters of a unit end to end in one tensor, which is cut into equal
// shards without regard to where one parameter ends and the next one begins.
//
// With use_orig_params every parameter begins at a multiple of 16 bytes of the compute type, and the
// whole is padded to a multiple of the ranks. Without it nothing is padded but the last rank's shard.
#pragma once

#include <cstdint>
#include <vector>

#include "models/sharding/places.hpp"

namespace foreshard {

struct FlatParameter {
  std::int64_t numel = 0;              // of all ranks, without the last shard's padding
  std::vector<std::int64_t> paddings;  // elements of each padding inside it, in order
  std::int64_t cut = 0;                // elements that this rank's shard has of it, the rest is padding
  // Of this rank: the pieces of the parameters that its shard has, in order. Without use_orig_params
  // the shard is one piece, of no parameter.
  UnitLayout layout;
};

// By unit.
std::vector<FlatParameter> flat_parameters(const Job& job, const RankPlace& place);

}  // namespace foreshard
