// What the trace of a prediction says about where the time of each event comes from.
#include <map>

#include <gtest/gtest.h>

#include "models/llama/llama_config.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/simulator/predict/h100.hpp"

namespace foreshard::simulator {
namespace {

const std::string kSamples = FORESHARD_SOURCE_DIR "/traces/samples/";

// The run of the samples, as it was recorded.
Job recorded_job() {
  const auto plan = load_plan(kSamples + "plan.toml");
  EXPECT_TRUE(plan) << plan.error().text();
  const auto job =
      make_job(*load_llama_config(kSamples + "llama/config.json"), *plan, "plan.toml", 2);
  EXPECT_TRUE(job) << job.error().text();
  return *job;
}

struct Count {
  int events = 0, with_error = 0;
};
struct Sources {
  std::map<CostSource, Count> work;  // what has a cost of its own
  std::map<CostSource, Count> rest;
};

// Costs of their own have what a device does and the host's own computations.
Sources sources_of(const PredictionOptions& options) {
  const Job job = recorded_job();
  const traces::Trace trace = to_trace(job, predict(job, options), "test");
  Sources sources;
  for (const traces::Event& event : trace.events) {
    const bool is_work = event.cost_key != 0 && event.kind != traces::EventKind::host;
    Count& count = (is_work ? sources.work : sources.rest)[event.cost_source];
    ++count.events;
    if (event.cost_error > 0) ++count.with_error;
  }
  return sources;
}

TEST(TraceCostSource, OfADataSheetIsModelled) {
  PredictionOptions options;
  options.machine = &h100();
  options.keeps_memory_records = true;
  const Job job = recorded_job();
  EXPECT_EQ(to_trace(job, predict(job, options), "test").metadata.at("data_sheet"), h100().name);
  Sources sources = sources_of(options);
  ASSERT_EQ(sources.work.size(), 1u);
  EXPECT_GT(sources.work[CostSource::modelled].events, 100);
  EXPECT_GT(sources.work[CostSource::modelled].with_error,
            sources.work[CostSource::modelled].events / 2)
      << "kernels are as unsure as the rates of their part";
  ASSERT_EQ(sources.rest.size(), 1u);
  EXPECT_GT(sources.rest[CostSource::none].events, 100) << "what the host takes to issue";
}

TEST(TraceCostSource, OfACostFileIsMeasuredWhereItsRecordingsHoldTheKey) {
  const auto costs = load_cost_table(kSamples + "costs.json");
  ASSERT_TRUE(costs) << costs.error().text();
  PredictionOptions options;
  options.costs = &*costs;
  options.keeps_memory_records = true;
  Sources sources = sources_of(options);
  EXPECT_GT(sources.work[CostSource::measured].events, 100);
  EXPECT_EQ(sources.work[CostSource::measured].with_error, 0);
  EXPECT_EQ(sources.work[CostSource::none].events, 0);
}

TEST(TraceCostSource, OfAnEstimateComesWithItsError) {
  auto costs = load_cost_table(kSamples + "costs.json");
  ASSERT_TRUE(costs) << costs.error().text();
  for (ThreadCountCosts& regime : costs->regimes) {
    std::erase_if(regime.measured,
                  [](const auto& each) { return each.first.op == Operator::matmul; });
  }
  PredictionOptions options;
  options.costs = &*costs;
  options.keeps_memory_records = true;
  const Count fitted = sources_of(options).work[CostSource::fitted];
  EXPECT_GT(fitted.events, 0);
  EXPECT_EQ(fitted.with_error, fitted.events);
}

}  // namespace
}  // namespace foreshard::simulator
