// The lowering against the laws of step programs and the reference's worked example.
#include <gtest/gtest.h>

#include "tests/models/program_checks.hpp"

namespace foreshard {
namespace {

LlamaConfig small_model() {
  LlamaConfig c;
  c.hidden = 128;
  c.intermediate = 336;
  c.layers = 2;
  c.heads = 4;
  c.kv_heads = 1;
  c.head_dim = 32;
  c.vocabulary = 1000;
  c.context = 512;
  return c;
}

RankProgram lowered(const LlamaConfig& model, const Plan& plan, int ranks, int rank = 0) {
  auto job = make_job(model, plan, "plan.toml", ranks);
  EXPECT_TRUE(job) << (job ? "" : job.error().text());
  return lower(*job, rank);
}

TEST(Lowering, ObeysTheLawsUnderEveryPlanKey) {
  Plan base;
  base.batch = {2, 16, 1, When::every, When::every};
  std::vector<Plan> plans(1, base);
  const auto vary = [&](auto change) {
    Plan p = base;
    change(p);
    plans.push_back(p);
  };
  using K = ReshardAfterForward::Kind;
  vary([](Plan& p) { p.wrap.policy = WrapPolicy::none; });
  vary([](Plan& p) { p.sharding.reshard_after_forward = {K::no, 0}; });
  vary([](Plan& p) { p.sharding.reshard_after_forward = {K::yes, 0}; });
  vary([](Plan& p) { p.sharding.reshard_after_forward = {K::group, 2}; });
  vary([](Plan& p) { p.sharding.strategy = Strategy::no_shard; });
  vary([](Plan& p) { p.sharding.strategy = Strategy::hybrid_shard; p.sharding.shard_group = 2; });
  vary([](Plan& p) { p.prefetch.forward = 1; p.prefetch.backward = 1; });
  vary([](Plan& p) { p.prefetch.backward.reset(); p.prefetch.unshard_before_forward = true; });
  vary([](Plan& p) { p.offload.parameters = true; });
  vary([](Plan& p) { p.offload.optimizer = true; });
  vary([](Plan& p) { p.offload.activations = true; });
  vary([](Plan& p) { p.checkpointing.mode = CheckpointMode::full; });
  vary([](Plan& p) { p.checkpointing.mode = CheckpointMode::every; });
  vary([](Plan& p) { p.checkpointing.mode = CheckpointMode::selective; });
  vary([](Plan& p) { p.wrap.policy = WrapPolicy::size; p.wrap.min_num_params = 2000; });
  vary([](Plan& p) {
    p.wrap.policy = WrapPolicy::modules;
    p.wrap.modules = {{"model.embed_tokens"}, {"model.layers.*.mlp"}, {"model.layers.*"},
                      {"model.norm", "lm_head"}};
  });
  vary([](Plan& p) { p.precision.reduce.reset(); });
  vary([](Plan& p) { p.precision.param = DType::fp32; });
  vary([](Plan& p) { p.precision.storage = DType::bf16; });
  vary([](Plan& p) { p.optimizer.name = OptimizerName::sgd; });
  // Every plan crossed with accumulation, checkpointing and ranks.
  for (const Plan& p : plans) {
    for (const int ranks : {1, 2, 4}) {
      if (p.sharding.reshard_after_forward.kind == K::group && ranks == 1) continue;
      if (p.sharding.strategy == Strategy::hybrid_shard && ranks == 1) continue;
      for (const std::int64_t accumulation : {1, 3}) {
        for (const When sync : {When::every, When::last}) {
          for (const bool full : {false, true}) {
            Plan q = p;
            q.batch.accumulation = accumulation;
            q.batch.gradient_sync = sync;
            q.batch.all_reduce = sync == When::every && accumulation == 3 ? When::last : When::every;
            q.sharding.reshard_after_backward = sync;
            if (full) q.checkpointing.mode = CheckpointMode::full;
            const auto broken = tests::broken_laws(lowered(small_model(), q, ranks, ranks - 1));
            EXPECT_TRUE(broken.empty()) << broken.front() << "\n" << to_toml(q) << ranks << " ranks";
            if (!broken.empty()) return;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace foreshard
