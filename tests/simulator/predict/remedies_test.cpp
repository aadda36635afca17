// Remedies are what the changed plans' own predictions are.
#include "simulator/predict/remedies.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/simulator/predict/h100.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::simulator {
namespace {

Job job_of(const Plan& plan) {
  const auto job = make_job(tests::small_llama({256, 640, 4, 4, 2, 1000}), plan, "plan", 2);
  EXPECT_TRUE(job) << job.error().text();
  return *job;
}

std::int64_t reserved(const Plan& plan, const PredictionOptions& options) {
  std::int64_t highest = 0;
  for (const RankPeaks& rank : predict(job_of(plan), options).ranks_memory) {
    highest = std::max(highest, rank.peaks.reserved);
  }
  return highest;
}

Plan eager() {
  Plan plan;
  plan.operators = OperatorSetName::pytorch_eager;
  plan.batch.micro_batch = 8;
  plan.checkpointing.mode = CheckpointMode::full;
  return plan;
}

TEST(Remedies, AreThePredictionsOfChangedPlansTheBestFirst) {
  const Plan plan = eager();
  PredictionOptions options;
  options.machine = &h100();
  const auto remedies = find_remedies(job_of(plan), options, 2).changes;
  ASSERT_EQ(remedies.size(), 3U);
  const std::int64_t now = reserved(plan, options);
  for (const Remedy& remedy : remedies) {
    EXPECT_LT(remedy.peak_reserved, now) << remedy.change;
    EXPECT_TRUE(remedy.fits);
    EXPECT_TRUE(remedy.step_time) << "the machine was named";
  }
  EXPECT_TRUE(std::is_sorted(
      remedies.begin(), remedies.end(),
      [](const Remedy& a, const Remedy& b) { return a.peak_reserved < b.peak_reserved; }));
  const auto halved = std::find_if(remedies.begin(), remedies.end(), [](const Remedy& remedy) {
    return remedy.change == "batch.micro_batch = 4, batch.accumulation = 2";
  });
  ASSERT_NE(halved, remedies.end());
  Plan half = plan;
  half.batch.micro_batch = 4;
  half.batch.accumulation = 2;
  EXPECT_EQ(halved->peak_reserved, reserved(half, options));
}

TEST(Remedies, OfADeviceThatIsTooSmallAreWhatTheyWouldNeed) {
  PredictionOptions options;
  options.machine = &h100();
  const auto unlimited = find_remedies(job_of(eager()), options, 1).changes;
  options.device_memory = unlimited.front().peak_reserved / 4;
  const auto limited = find_remedies(job_of(eager()), options, 1).changes;
  ASSERT_EQ(limited.size(), unlimited.size());
  for (std::size_t i = 0; i < limited.size(); ++i) {
    EXPECT_FALSE(limited[i].fits);
    EXPECT_FALSE(limited[i].step_time);
    EXPECT_EQ(limited[i].change, unlimited[i].change);
    EXPECT_EQ(limited[i].peak_reserved, unlimited[i].peak_reserved);
  }
}

TEST(Remedies, ThatMakeItFitComeFirst) {
  PredictionOptions options;
  options.machine = &h100();
  const auto unlimited = find_remedies(job_of(eager()), options, 1).changes;
  options.device_memory = unlimited.front().peak_reserved;
  const auto limited = find_remedies(job_of(eager()), options, 1).changes;
  EXPECT_TRUE(limited.front().fits);
  EXPECT_TRUE(std::is_partitioned(limited.begin(), limited.end(),
                                  [](const Remedy& remedy) { return remedy.fits; }));
}

}  // namespace
}  // namespace foreshard::simulator
