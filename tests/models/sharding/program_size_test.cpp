// The size of a program as it is estimated beside that of the one that is lowered.
#include "models/sharding/program_size.hpp"

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "tests/small_llama.hpp"

namespace foreshard {
namespace {

Plan plan_of(std::int64_t accumulation, std::vector<WrapGroup> modules = {}) {
  Plan plan;
  plan.batch = {1, 16, accumulation, When::every, When::every};
  if (!modules.empty()) {
    plan.wrap.policy = WrapPolicy::modules;
    plan.wrap.modules = std::move(modules);
  }
  return plan;
}

TEST(ProgramSize, IsThatOfTheLoweredProgramWithinAThird) {
  for (const std::int64_t layers : {8, 24}) {
    for (const Plan& plan : {plan_of(1), plan_of(6),
                             plan_of(3, {{{"model.layers.*.self_attn.*"}},
                                         {{"model.layers.*.mlp.*"}},
                                         {{"model.layers.*"}}})}) {
      const auto job =
          make_job(tests::small_llama({128, 336, layers, 4, 1, 1000}), plan, "p.toml", 4);
      ASSERT_TRUE(job) << job.error().text();
      const auto counted = static_cast<double>(lower(*job, 0).step(2).instructions.size());
      EXPECT_NEAR(static_cast<double>(estimated_instructions(*job)) / counted, 1.0, 0.34)
          << layers << " layers, " << job->units.size() << " units";
    }
  }
}

TEST(ProgramSize, WhatNoMachineHoldsIsRefused) {
  const LlamaConfig model = tests::small_llama({128, 336, 8000, 4, 1, 1000});
  EXPECT_TRUE(make_job(model, plan_of(1), "p.toml", 2));
  const auto job = make_job(model, plan_of(4096), "p.toml", 2);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().field, "batch.accumulation");
  EXPECT_NE(job.error().message.find("million instructions"), std::string::npos);
}

}  // namespace
}  // namespace foreshard
