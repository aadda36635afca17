// rapidcheck generators of valid plans: every key drawn from what its entry in the list of keys
// allows, then made free of the contradictions between keys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_words.hpp"

namespace foreshard {

class PlanDrawer {
 public:
  template <typename Field, typename Bounds>
  void operator()(std::string_view, std::string_view, Field&& field, const Bounds& bounds) {
    draw(field, bounds);
  }

 private:
  static std::int64_t integer(Integers bounds) {
    return *rc::gen::weightedOneOf<std::int64_t>(
        {{3, rc::gen::inRange<std::int64_t>(bounds.least, std::min(bounds.most, bounds.least + 9))},
         {1, rc::gen::inRange<std::int64_t>(bounds.least, bounds.most)},
         {1, rc::gen::element(bounds.least, bounds.most)}});
  }

  static std::string text() {
    return *rc::gen::nonEmpty(rc::gen::container<std::string>(
        rc::gen::oneOf(rc::gen::inRange<char>(1, 127), rc::gen::element('*', '.', '"', '\\'))));
  }

  static void draw(bool& field, Anything) { field = *rc::gen::arbitrary<bool>(); }
  static void draw(std::int64_t& field, Integers bounds) { field = integer(bounds); }
  static void draw(std::optional<std::int64_t>& field, Integers bounds) {
    field.reset();
    if (*rc::gen::arbitrary<bool>()) field = integer(bounds);
  }
  static void draw(double& field, Numbers bounds) {
    const double part = static_cast<double>(*rc::gen::inRange(0, 1'000'000'007)) / 1'000'000'007.0;
    field = bounds.least + part * (bounds.most - bounds.least);
  }
  static void draw(Pair<double>& field, Numbers bounds) {
    draw(field.first, bounds);
    draw(field.second, bounds);
  }
  template <PlanWord E>
  static void draw(E& field, Anything) {
    field = static_cast<E>(*rc::gen::inRange<std::size_t>(0, kWords<E>.size()));
  }
  template <PlanWord E>
  static void draw(std::optional<E>& field, Anything bounds) {
    field.reset();
    if (*rc::gen::arbitrary<bool>()) draw(field.emplace(), bounds);
  }
  static void draw(PyTorchVersion& field, Anything) {
    field = {*rc::gen::inRange(0, 10), *rc::gen::inRange(0, 100)};
  }
  static void draw(std::string& field, Anything) { field = text(); }
  static void draw(std::vector<std::string>& field, Anything) {
    field.resize(*rc::gen::inRange<std::size_t>(0, 4));
    for (std::string& item : field) item = text();
  }
  static void draw(std::vector<WrapGroup>& field, Anything) {
    field.resize(*rc::gen::inRange<std::size_t>(0, 4));
    for (WrapGroup& group : field) {
      draw(group.is_one_unit, Anything{});
      group.globs.assign(group.is_one_unit ? *rc::gen::inRange<std::size_t>(1, 4) : 1, "");
      for (std::string& glob : group.globs) glob = text();
    }
  }
  static void draw(ReshardAfterForward& field, Integers bounds) {
    using Kind = ReshardAfterForward::Kind;
    field.kind = *rc::gen::element(Kind::automatic, Kind::yes, Kind::no, Kind::group);
    field.group = field.kind == Kind::group ? integer(bounds) : 0;
  }
  static void draw(SavedOutputs<bool>& field, Anything) {
    draw(field.attention, Anything{});
    draw(field.matmul, Anything{});
    draw(field.every_second_matmul, Anything{});
  }
};

inline void remove_contradictions(Plan& plan) {
  ShardingPlan& sharding = plan.sharding;
  plan.batch.micro_batch = std::min(plan.batch.micro_batch, kMaxTokens / plan.batch.sequence);
  if (!describes_pytorch(plan.operators)) plan.optimizer.kernel = OptimizerKernel::fused;
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
    visit_plan_keys(plan, PlanDrawer{});
    remove_contradictions(plan);
    return plan;
  });
}

}  // namespace foreshard
