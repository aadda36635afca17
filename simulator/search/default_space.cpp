#include "simulator/search/default_space.hpp"

#include <string>

#include "models/plan/plan_keys.hpp"

namespace foreshard::simulator {

namespace {

// Keys that vary together.
constexpr const char* kVariants = R"(sharding = [
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

}  // namespace

std::vector<PlanAxis> default_space() {
  std::string space;
  for (const PlanKey& key : plan_keys()) {
    if (key.searched.empty()) continue;
    space.append("\"").append(key.name()).append("\" = ").append(spelt(key.searched)).append("\n");
  }
  return parse_plan_space(space + kVariants, "default space").value();
}

}  // namespace foreshard::simulator
