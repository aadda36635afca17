// Categories of blocks without a stack, inferred from their sizes where these are conclusive.
//
// FSDP's shards: each parameter it gathers for the first time during the recording is allocated
// unsharded, at k times the bytes of its shard with one k for all (ranks, or half of them where
// shards are fp32 and gathered ones bf16). If for some k every gathered size has at least as many
// equal shards among the blocks, those are the shards. Where there are more of them than parameters
// were gathered, gradients or optimizer states of the same sizes are among them, and the category
// names both.
//
// Optimizer states: those made during the recording have the sizes of their parameters. Blocks of
// such a size that were there before, no more than states, are the parameters.
//
// All others stay "before the recording".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "traces/snapshot/allocation_cause.hpp"
#include "traces/snapshot/snapshot.hpp"
#include "traces/snapshot/start_state.hpp"

namespace foreshard::traces {

class ParameterSizes {
 public:
  ParameterSizes(const Snapshot& snapshot, int device, const StartState& start,
                 AllocationCauses& attributions);

  std::string_view category(std::int64_t requested) const;
  std::string_view owner(std::int64_t requested) const;

 private:
  using Counts = std::map<std::int64_t, std::int64_t>;  // blocks by requested bytes
  void match_shards(const Counts& gathered, const Counts& blocks);

  struct Kind {
    std::string_view category, owner;
  };
  std::map<std::int64_t, Kind> kinds_;
};

}  // namespace foreshard::traces
