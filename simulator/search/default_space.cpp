#include "simulator/search/default_space.hpp"

namespace foreshard::simulator {

const char* const kDefaultSpace = R"("batch.micro_batch" = [1, 2, 4, 8]
"sharding.strategy" = ["full_shard", "hybrid_shard"]
"sharding.reshard_after_forward" = ["auto", false]
"precision.reduce" = ["fp32", "bf16"]
"checkpointing.mode" = ["none", "selective", "full"]
"checkpointing.fraction" = [1.0, 0.5]
"allocator.expandable_segments" = [false, true]
)";

std::vector<PlanAxis> default_space() {
  return parse_plan_space(kDefaultSpace, "default space").value();
}

}  // namespace foreshard::simulator
