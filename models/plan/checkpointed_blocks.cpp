#include <cmath>

#include "models/plan/plan.hpp"

namespace foreshard {

// The mode takes all blocks, or each n-th. Of the k-th that it takes (counted from 1) the fraction f
// selects those at which f k, rounded, grows, as IBM's foundation models do: 1/3 selects the 2nd,
// 5th, 8th, ..., so that as many come before a selected block as after it.
bool is_checkpointed(const CheckpointPlan& checkpointing, std::int64_t block) {
  if (checkpointing.mode == CheckpointMode::none) return false;
  const std::int64_t every = checkpointing.mode == CheckpointMode::every ? checkpointing.every : 1;
  if ((block + 1) % every != 0) return false;
  const auto taken = static_cast<double>((block + 1) / every);
  return std::round(checkpointing.fraction * taken) >
         std::round(checkpointing.fraction * (taken - 1));
}

}  // namespace foreshard
