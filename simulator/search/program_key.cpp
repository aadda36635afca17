#include "models/plan/plan_keys.hpp"
#include "simulator/search/candidates.hpp"

namespace foreshard::simulator {
namespace {

// Hybrid sharding with all ranks in one group is full sharding; a group of a node's ranks can be named by
// their number; the strategies that keep parameters after forward are others that do not reshard.
void write_one_way(ShardingPlan& sharding, int ranks, int nodes) {
  using Kind = ReshardAfterForward::Kind;
  if (sharding.strategy == Strategy::shard_grad_op) {
    sharding.strategy = Strategy::full_shard;
    sharding.reshard_after_forward = {Kind::no, 0};
  }
  if (sharding.strategy == Strategy::hybrid_shard_zero2) {
    sharding.strategy = Strategy::hybrid_shard;
    sharding.reshard_after_forward = {Kind::no, 0};
  }
  std::int64_t group = ranks;
  if (sharding.strategy == Strategy::hybrid_shard) {
    if (sharding.shard_group == 0 && nodes > 0) sharding.shard_group = ranks / nodes;
    group = sharding.shard_group;
    if (group == ranks) {
      sharding.strategy = Strategy::full_shard;
      sharding.shard_group = 0;
    }
  }
  const ReshardAfterForward& reshard = sharding.reshard_after_forward;
  if (reshard.kind == Kind::group && reshard.group == 1) {
    sharding.reshard_after_forward = {Kind::no, 0};
  } else if (reshard.kind == Kind::group && reshard.group == group) {
    sharding.reshard_after_forward = {Kind::yes, 0};
  }
}

}  // namespace

std::string program_key(Plan plan, int ranks, int nodes) {
  if (plan.runtime == RuntimeName::fsdp2) write_one_way(plan.sharding, ranks, nodes);
  std::string text;
  for (const PlanKey& key : plan_keys()) {
    if (key.section() == "allocator") continue;
    if (key.missing_in(plan).empty()) text += spelt(key.value_in(plan));
    text += '\n';
  }
  return text;
}

}  // namespace foreshard::simulator
