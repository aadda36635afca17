// What --explain promises of a measurement is what happens once it is made.
#include "simulator/fit/recommended_measurement.hpp"

#include <gtest/gtest.h>

#include "simulator/fit/observed_runs.hpp"
#include "tests/simulator/predict/h100.hpp"
#include "tests/simulator/predict/log_width.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::simulator {
namespace {

Job trained_job(int ranks) {
  Plan plan;
  plan.operators = OperatorSetName::pytorch_eager;
  plan.optimizer.kernel = OptimizerKernel::foreach;
  plan.batch.micro_batch = 8;
  return make_job(tests::small_llama({1024, 2816, 4, 8, 4, 8000}), plan, "plan", ranks, 1, &h100())
      .value();
}

PredictionOptions on_h100(const CostTable* costs = nullptr) {
  PredictionOptions options;
  options.costs = costs;
  options.machine = &h100();
  return options;
}

// Runs as they were predicted, one after the other; the first once more says nothing new.
TEST(RecommendedMeasurement, AnObservedRunDoesWhatWasPromisedOfIt) {
  CostTable table;
  table.machine_name = h100().name;
  table.is_accelerator = true;
  std::vector<ObservedRun> runs;
  for (const int ranks : {8, 1}) {
    const Job job = trained_job(ranks);
    const PredictionOptions options = on_h100(table.rates ? &table : nullptr);
    const Prediction before = predict(job, options);
    const auto promised = recommend_measurement(job, options, before);
    ASSERT_TRUE(promised) << ranks;
    EXPECT_LT(promised->half_width, log_width(before));
    runs.push_back({"plan.toml", job, before.step_time});
    table.rates = fit_observed(runs, h100(), "h100-sxm").value();
    const Prediction after = predict(job, on_h100(&table));
    EXPECT_NEAR(log_width(after), promised->half_width, 2e-3) << ranks;
    EXPECT_FALSE(recommend_measurement(job, on_h100(&table), after)) << ranks;
  }
}

TEST(RecommendedMeasurement, ARecordingLeavesWhatNoCostExplains) {
  const Job job = make_job(tests::small_llama({128, 256, 2, 4, 2, 512}), Plan(), "plan", 1).value();
  CostTable table;
  table.machine_name = "a processor";
  table.regimes.emplace_back();
  table.cores = 1;
  table.band = 0.08;
  PredictionOptions options;
  options.costs = &table;
  const Prediction before = predict(job, options);  // nothing was measured: all is estimated
  const auto promised = recommend_measurement(job, options, before);
  ASSERT_TRUE(promised);
  EXPECT_NEAR(promised->half_width, 0.08, 1e-9);
  EXPECT_GT(log_width(before), 0.2);
}

}  // namespace
}  // namespace foreshard::simulator
