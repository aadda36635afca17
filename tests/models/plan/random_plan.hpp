// rapidcheck generators of valid plans: every key drawn from what its entry in the list of keys
// allows, then made free of the contradictions between keys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "models/plan/plan_keys.hpp"

namespace foreshard {

inline std::int64_t drawn_integer(Integers bounds) {
  return *rc::gen::weightedOneOf<std::int64_t>(
      {{3, rc::gen::inRange<std::int64_t>(bounds.least, std::min(bounds.most, bounds.least + 9))},
       {1, rc::gen::inRange<std::int64_t>(bounds.least, bounds.most)},
       {1, rc::gen::element(bounds.least, bounds.most)}});
}

inline double drawn_number(Numbers bounds) {
  const double part = static_cast<double>(*rc::gen::inRange(1, 1'000'000'007)) / 1'000'000'007.0;
  return bounds.least + part * (bounds.most - bounds.least);
}

inline std::string drawn_text() {
  return *rc::gen::nonEmpty(rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::inRange<char>(1, 127), rc::gen::element('*', '.', '"', '\\'))));
}

inline PlanList drawn_texts(std::size_t least) {
  PlanList list(*rc::gen::inRange<std::size_t>(least, 4));
  for (PlanValue& item : list) item = drawn_text();
  return list;
}

inline PlanValue drawn_value(const AllowedValues& allowed) {
  const auto coin = [] { return *rc::gen::arbitrary<bool>(); };
  PlanList list;
  switch (allowed.list) {
    case AllowedValues::List::none: break;
    case AllowedValues::List::pair:
      return PlanList{drawn_number(*allowed.numbers), drawn_number(*allowed.numbers)};
    case AllowedValues::List::choices:
      for (const std::string_view word : allowed.words) {
        if (coin()) list.emplace_back(std::string(word));
      }
      return list;
    case AllowedValues::List::names: return drawn_texts(0);
    case AllowedValues::List::groups:
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n) {
        list.push_back(coin() ? PlanValue(drawn_texts(1)) : PlanValue(drawn_text()));
      }
      return list;
  }
  std::vector<PlanValue> values;  // one of each kind
  for (const std::string_view word : allowed.words) values.emplace_back(std::string(word));
  if (allowed.flags) values.emplace_back(coin());
  if (allowed.integers) values.emplace_back(drawn_integer(*allowed.integers));
  if (allowed.numbers) values.emplace_back(drawn_number(*allowed.numbers));
  if (allowed.may_be_unwritten) values.emplace_back();
  return values.empty() ? PlanValue(drawn_text()) : *rc::gen::elementOf(values);
}

inline void remove_contradictions(Plan& plan) {
  ShardingPlan& sharding = plan.sharding;
  plan.batch.micro_batch = std::min(plan.batch.micro_batch, kMaxTokens / plan.batch.sequence);
  plan.optimizer.min_lr = std::min(plan.optimizer.min_lr, plan.optimizer.lr);
  if (!describes_pytorch(plan.operators)) {
    plan.optimizer.kernel = OptimizerKernel::fused;
    plan.optimizer.momentum = 0;
  }
  if (plan.checkpointing.save_matmul) plan.checkpointing.save_every_second_matmul = false;
  if (sharding.strategy != Strategy::full_shard && sharding.strategy != Strategy::hybrid_shard) {
    sharding.reshard_after_forward = {};
  }
  if (sharding.strategy != Strategy::hybrid_shard &&
      sharding.strategy != Strategy::hybrid_shard_zero2) {
    sharding.shard_group = 0;
  }
  if (plan.allocator.max_split_size_mb <= 20) plan.allocator.max_split_size_mb = 0;
  plan.allocator.roundup_power2_divisions = *rc::gen::element<std::int64_t>(0, 1, 2, 8, 64);
  plan.pytorch.cublas_workspace_config =
      *rc::gen::element<std::string>("", ":0:0", ":4096:2:16:8", ":65536:8");
}

inline rc::Gen<Plan> arbitrary_plan() {
  return rc::gen::exec([] {
    Plan plan;
    for (const PlanKey& key : plan_keys()) key.set_in(plan, drawn_value(key.field.allowed));
    plan.pytorch.version = {*rc::gen::inRange(0, 10), *rc::gen::inRange(0, 100)};
    remove_contradictions(plan);
    return plan;
  });
}

}  // namespace foreshard
