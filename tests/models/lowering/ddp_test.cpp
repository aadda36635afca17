// DDP: which programs its steps run, how buckets are made, and the laws of step programs. What it requests
// of the allocator: pytorch_histories_test.cpp.
#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "tests/models/lowering/program_checks.hpp"
#include "tests/small_llama.hpp"

namespace foreshard {
namespace {

Result<Job> made(const std::string& toml, int ranks) {
  auto plan = parse_plan(
      "operators = 'pytorch-eager'\nruntime = 'ddp'\n"
      "batch = {micro_batch = 2, sequence = 8, accumulation = 1}\n" +
          toml,
      "plan.toml");
  if (!plan) return tl::unexpected(plan.error());
  return make_job(tests::small_llama({48, 56, 4, 4, 2, 90}), *plan, "plan.toml", ranks);
}

const std::string kFp32 = "precision = {param = 'fp32'}\n";

Job ddp_job(const std::string& toml, int ranks = 4) {
  auto job = made(kFp32 + toml, ranks);
  EXPECT_TRUE(job) << (job ? "" : job.error().text());
  return *job;
}

TEST(Ddp, ObeysTheLaws) {
  for (const char* plan :
       {"", "pytorch = {find_unused_parameters = true, init_sync = false}\n",
        "pytorch = {gradient_as_bucket_view = true, setup = 'host'}\n",
        "pytorch = {find_unused_parameters = true, implementation = 'transformers'}\n",
        "pytorch = {static_graph = true}\n",
        "pytorch = {static_graph = true, gradient_as_bucket_view = true}\n",
        "pytorch = {implementation = 'transformers'}\n", "checkpointing = {mode = 'full'}\n"}) {
    for (const int ranks : {1, 4}) {
      Job job = ddp_job(plan, ranks);
      for (const std::int64_t accumulation : {1, 3}) {
        for (const When sync : {When::every, When::last}) {
          for (const ZeroGrad zero : {ZeroGrad::none, ZeroGrad::zeros}) {
            job.plan.batch.accumulation = accumulation;
            job.plan.batch.gradient_sync = sync;
            job.plan.pytorch.zero_grad = zero;
            const auto broken = tests::broken_laws(lower(job, ranks - 1));
            ASSERT_TRUE(broken.empty()) << broken.front() << "\n"
                                        << to_toml(job.plan) << ranks << " ranks";
          }
        }
      }
    }
  }
}

// Buckets are made anew in step 2, with a static graph in step 3, with several micro-steps in step 1;
// the step after that is the first that repeats. The set-up is a program as well.
TEST(Ddp, RunsAsManyProgramsAsDiffer) {
  EXPECT_EQ(lower(ddp_job(""), 0).programs.size(), 4U);
  EXPECT_EQ(lower(ddp_job("pytorch = {static_graph = true}\n"), 0).programs.size(), 5U);
  Job job = ddp_job("");
  job.plan.batch.accumulation = 2;
  EXPECT_EQ(lower(job, 0).programs.size(), 3U);
  // Those that find_unused_parameters leaves as they are.
  EXPECT_EQ(lower(ddp_job("pytorch = {find_unused_parameters = true}\n"), 0).programs.size(), 3U);
}

TEST(Ddp, RanksRunTheSameProgram) {
  EXPECT_EQ(rank_classes(ddp_job(""), 4), (std::vector<int>{0, 0, 0, 0}));
}

TEST(Ddp, TakesNoModelWithoutStorage) {
  const auto job = made(kFp32 + "pytorch = {setup = 'meta'}\n", 2);
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().text().find("plan.toml: pytorch.setup: is \"meta\", but DDP takes"),
            std::string::npos);
}

TEST(Ddp, ComputesInTheTypeOfItsParameters) {
  const auto job = made("precision = {storage = 'fp32', param = 'bf16'}\n", 2);
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().text().find("plan.toml: precision.param: is \"bf16\""), std::string::npos);
}

}  // namespace
}  // namespace foreshard
