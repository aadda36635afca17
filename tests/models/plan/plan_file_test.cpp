// A plan file knows which keys it writes, and a subject's defaults fill in the others.
#include "models/plan/plan_file.hpp"

#include <gtest/gtest.h>

#include "models/plan/foreign/foreign_plans.hpp"

namespace foreshard {
namespace {

Plan of_pytorch() {
  Plan defaults;
  defaults.operators = OperatorSetName::pytorch_eager;
  defaults.batch.micro_batch = 1;
  defaults.batch.sequence = 8192;
  defaults.optimizer.kernel = OptimizerKernel::foreach;
  return defaults;
}

TEST(PlanFile, WhatIsNotWrittenIsFilledIn) {
  const auto file = parse_plan_file("[batch]\nsequence = 512\n", "plan.toml");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_TRUE(file->writes("batch.sequence"));
  EXPECT_FALSE(file->writes("batch.micro_batch"));
  Plan expected = of_pytorch();
  expected.batch.sequence = 512;
  EXPECT_EQ(completed(*file, of_pytorch()), expected);
  EXPECT_EQ(completed(*file), Plan{});
}

TEST(PlanFile, RulesAreThoseOfTheCompletedPlan) {
  const auto file = parse_plan_file("\n[optimizer]\nkernel = \"loop\"\n", "plan.toml");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_TRUE(completed(*file, of_pytorch()));
  const auto plan = completed(*file);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().field, "optimizer.kernel");
  EXPECT_EQ(plan.error().file, "plan.toml:3");
}

TEST(PlanFile, PyTorchsKernelIsForeachUnlessWritten) {
  const auto eager = parse_plan_file("operators = \"pytorch-eager\"\n", "plan.toml");
  ASSERT_TRUE(eager) << eager.error().text();
  EXPECT_EQ(completed(*eager)->optimizer.kernel, OptimizerKernel::foreach);
  const auto own = parse_plan_file("operators = \"foreshard\"\n", "plan.toml");
  ASSERT_TRUE(own) << own.error().text();
  EXPECT_EQ(completed(*own, of_pytorch())->optimizer.kernel, OptimizerKernel::fused);
}

TEST(PlanFile, AnotherToolsFileWritesTheKeysThatItSets) {
  const auto file = parse_any_plan(
      "{\"zero_optimization\": {\"stage\": 3}, \"train_micro_batch_size_per_gpu\": 2}",
      "zero.json");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_TRUE(file->writes("batch.micro_batch"));
  EXPECT_FALSE(file->writes("batch.sequence"));
  EXPECT_EQ(completed(*file, of_pytorch())->batch.sequence, 8192);
}

}  // namespace
}  // namespace foreshard
