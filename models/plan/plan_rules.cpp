#include "models/plan/plan_rules.hpp"

#include <string>

#include "models/plan/cublas_workspace.hpp"
#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_words.hpp"

namespace foreshard {
namespace {

bool is_power_of_two(std::int64_t n) {
  return n > 0 && (n & (n - 1)) == 0;
}

std::string quoted(std::string_view word) {
  return '"' + std::string(word) + '"';
}

std::optional<BrokenRule> broken_sharding_rule(const ShardingPlan& sharding) {
  const std::string strategy = "strategy " + quoted(word(sharding.strategy));
  const auto reshard = sharding.reshard_after_forward.kind;
  const bool keeps_after_forward = sharding.strategy == Strategy::shard_grad_op ||
                                   sharding.strategy == Strategy::hybrid_shard_zero2;
  if (keeps_after_forward &&
      (reshard == ReshardAfterForward::Kind::yes || reshard == ReshardAfterForward::Kind::group)) {
    return BrokenRule{"sharding.reshard_after_forward",
                      "contradicts " + strategy +
                          ", which keeps parameters unsharded; expected \"auto\" or false"};
  }
  if (sharding.strategy == Strategy::no_shard && reshard == ReshardAfterForward::Kind::group &&
      sharding.reshard_after_forward.group > 1) {
    return BrokenRule{
        "sharding.reshard_after_forward",
        "is a group of ranks, but " + strategy + " has none; expected \"auto\", true or false"};
  }
  const bool is_hybrid = sharding.strategy == Strategy::hybrid_shard ||
                         sharding.strategy == Strategy::hybrid_shard_zero2;
  if (sharding.shard_group != 0 && !is_hybrid) {
    return BrokenRule{"sharding.shard_group",
                      "is " + std::to_string(sharding.shard_group) + ", but " + strategy +
                          " has no groups; expected 0, or a hybrid strategy"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<BrokenRule> broken_rule(const Plan& plan) {
  if (plan.tokens() > kMaxTokens) {
    return BrokenRule{"batch.micro_batch", "times sequence is " + std::to_string(plan.tokens()) +
                                               " tokens; expected at most " +
                                               std::to_string(kMaxTokens)};
  }
  if (auto broken = broken_sharding_rule(plan.sharding)) return broken;
  if (!describes_pytorch(plan.operators) && plan.optimizer.kernel != OptimizerKernel::fused) {
    return BrokenRule{"optimizer.kernel", "is " + quoted(word(plan.optimizer.kernel)) +
                                              ", but operators " + quoted(word(plan.operators)) +
                                              " have only the fused one; expected \"fused\""};
  }
  if (plan.checkpointing.save_matmul && plan.checkpointing.save_every_second_matmul) {
    return BrokenRule{"checkpointing.save",
                      "has both matmul and every_second_matmul; expected one of them"};
  }
  const OptimizerPlan& optimizer = plan.optimizer;
  if (optimizer.min_lr > optimizer.lr) {
    return BrokenRule{"optimizer.min_lr", "is above optimizer.lr; expected that at most"};
  }
  if (!describes_pytorch(plan.operators) && optimizer.name == OptimizerName::sgd &&
      optimizer.momentum != 0) {
    return BrokenRule{"optimizer.momentum",
                      "is not 0, but SGD of operators " + quoted(word(plan.operators)) +
                          " has no momentum; expected 0, or operators \"pytorch-eager\""};
  }
  const AllocatorSettings& allocator = plan.allocator;
  constexpr std::int64_t kLargeSegmentMebibytes = 20;
  if (allocator.max_split_size_mb != 0 && allocator.max_split_size_mb <= kLargeSegmentMebibytes) {
    return BrokenRule{"allocator.max_split_size_mb",
                      "is " + std::to_string(allocator.max_split_size_mb) +
                          "; expected 0 or more than " + std::to_string(kLargeSegmentMebibytes)};
  }
  if (allocator.roundup_power2_divisions != 0 &&
      !is_power_of_two(allocator.roundup_power2_divisions)) {
    return BrokenRule{"allocator.roundup_power2_divisions",
                      "is " + std::to_string(allocator.roundup_power2_divisions) +
                          "; expected 0 or a power of two"};
  }
  if (!cublas_workspace_bytes(plan.pytorch.cublas_workspace_config)) {
    return BrokenRule{"pytorch.cublas_workspace_config",
                      "is " + quoted(std::string_view(plan.pytorch.cublas_workspace_config)) +
                          "; expected \"\" or pairs of KiB and count such as \":4096:2:16:8\""};
  }
  return std::nullopt;
}

}  // namespace foreshard
