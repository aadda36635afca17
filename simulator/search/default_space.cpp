#include "simulator/search/default_space.hpp"

namespace foreshard::simulator {

const char* const kDefaultSpace = R"("batch.micro_batch" = [1, 2, 4, 8]
"precision.reduce" = ["fp32", "bf16"]
"checkpointing.mode" = ["none", "selective", "full"]
"checkpointing.fraction" = [1.0, 0.5]
"allocator.expandable_segments" = [false, true]
sharding = [
  {},
  {"sharding.reshard_after_forward" = false},
  {"sharding.reshard_after_forward" = 8},
  {"sharding.strategy" = "hybrid_shard"},
  {"sharding.strategy" = "hybrid_shard", "sharding.reshard_after_forward" = false},
  {"sharding.strategy" = "hybrid_shard", "sharding.shard_group" = 16},
]
variant = [
  {},
  {"wrap.policy" = "modules", "wrap.modules" = [
    "model.embed_tokens", ["model.norm", "lm_head"], "model.layers.*"]},
  {"prefetch.forward" = 2, "prefetch.backward" = 2},
  {"batch.gradient_sync" = "last"},
  {"offload.activations" = true},
  {"offload.optimizer" = true},
  {"offload.parameters" = true},
]
)";

std::vector<PlanAxis> default_space() {
  return parse_plan_space(kDefaultSpace, "default space").value();
}

}  // namespace foreshard::simulator
