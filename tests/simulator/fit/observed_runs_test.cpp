// Runs whose throughput alone is known, on machines whose true rates the test made up.
#include "simulator/fit/observed_runs.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "simulator/predict/prediction.hpp"
#include "tests/simulator/predict/h100.hpp"

namespace foreshard::simulator {
namespace {

Job llama_1b(int micro_batch, int sequence, int ranks) {
  Plan plan;
  plan.batch.micro_batch = micro_batch;
  plan.batch.sequence = sequence;
  plan.allocator.expandable_segments = true;  // as torchtitan runs
  return make_job(*load_llama_config("llama-3.2-1b"), plan, "test", ranks, 1, &h100()).value();
}

Prediction predicted(const Job& job, const DeviceRates& rates) {
  CostTable table;
  table.machine_name = h100().name;
  table.is_accelerator = true;
  table.rates = rates;
  PredictionOptions options;
  options.costs = &table;
  options.machine = &h100();
  return predict(job, options);
}

DeviceRates with_products(double factor) {
  DeviceRates rates{"h100-sxm", prior_factors(kernel_rates(*load_machine("h100-sxm"))), {}};
  rates.factors.logarithm[static_cast<std::size_t>(Rate::product)] = std::log(factor);
  return rates;
}

double half_width(const Prediction& p) {
  const auto time = static_cast<double>(p.step_time.count());
  return static_cast<double>(p.step_time_high.count()) / time - 1;
}

// Two runs of a machine whose products take 1.12 times as long as the catalogue says.
TEST(ObservedRuns, TeachWhatOtherPlansTake) {
  const DeviceRates truth = with_products(1.12);
  std::vector<ObservedRun> runs;
  for (const Job& job : {llama_1b(2, 4096, 8), llama_1b(8, 1024, 4)}) {
    runs.push_back({"plan.toml", job, predicted(job, truth).step_time});
  }
  const auto learnt = fit_observed(runs, h100(), "h100-sxm");
  ASSERT_TRUE(learnt) << learnt.error().text();
  EXPECT_GT(learnt->factors.factor(Rate::product), 1.04);

  const Job other = llama_1b(4, 2048, 8);
  const auto true_ns = static_cast<double>(predicted(other, truth).step_time.count());
  const Prediction taught = predicted(other, *learnt),
                   untaught = predicted(other, with_products(1));
  EXPECT_NEAR(static_cast<double>(taught.step_time.count()), true_ns, 0.02 * true_ns);
  EXPECT_GT(std::abs(static_cast<double>(untaught.step_time.count()) - true_ns), 0.03 * true_ns);
  EXPECT_LT(half_width(taught), half_width(untaught));
  EXPECT_GT(taught.cost_sources.fitted, 0);
  EXPECT_GT(taught.cost_sources.fitted, 50 * taught.cost_sources.modelled);  // segments of memory

  for (std::size_t r = 0; r < runs.size(); ++r) {
    const ObservedStep& step = learnt->observed[r];
    EXPECT_EQ(step.measured_ns, runs[r].step_time.count());
    EXPECT_NEAR(static_cast<double>(step.fitted_ns), static_cast<double>(step.measured_ns),
                0.02 * static_cast<double>(step.measured_ns));
  }
}

// Two figures of one run, 40 % apart: the answer lies between them, and admits to most of it.
TEST(ObservedRuns, ThatContradictEachOtherWidenTheBand) {
  const Job job = llama_1b(4, 4096, 8);
  const auto ns = static_cast<double>(predicted(job, with_products(1)).step_time.count());
  const auto run = [&](double factor) {
    return ObservedRun{"plan.toml", job, Nanoseconds(std::llround(factor * ns))};
  };
  const auto agreeing = fit_observed({run(1), run(1)}, h100(), "h100-sxm");
  const auto contradicting = fit_observed({run(1), run(1.4)}, h100(), "h100-sxm");
  ASSERT_TRUE(agreeing && contradicting);
  const Prediction sure = predicted(job, *agreeing), unsure = predicted(job, *contradicting);
  EXPECT_GT(half_width(unsure), 2 * half_width(sure));
  EXPECT_LT(static_cast<double>(unsure.step_time_low.count()), ns);
  EXPECT_GT(static_cast<double>(unsure.step_time_high.count()), 1.35 * ns);
}

TEST(ObservedRuns, NoneLeaveTheCatalogueAsItIs) {
  const auto learnt = fit_observed({}, h100(), "h100-sxm");
  ASSERT_TRUE(learnt);
  const Job job = llama_1b(2, 4096, 8);
  PredictionOptions catalogue;
  catalogue.machine = &h100();
  EXPECT_EQ(predicted(job, *learnt).step_time, predict(job, catalogue).step_time);
}

// They correct the catalogue, which answers for Foreshard's operators whatever device those are
// made for.
TEST(ObservedRuns, SayNoMoreAboutTheOperatorsThanTheCatalogueDoes) {
  EXPECT_TRUE(predicted(llama_1b(2, 4096, 8), with_products(1)).warnings.empty());
}

TEST(ObservedRuns, AreKeptInACostFile) {
  CostTable table;
  table.machine_name = h100().name;
  table.is_accelerator = true;
  table.rates = with_products(1.3);
  table.rates->factors.unexplained = 0.2;
  table.rates->observed.push_back({"a.toml", "llama", 8, 1'500, 1'000, 1'400});
  const auto read = parse_cost_table(to_json(table), "costs.json");
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_TRUE(read->rates);
  EXPECT_EQ(to_json(*read), to_json(table));
  EXPECT_EQ(read->rates->machine, "h100-sxm");
  EXPECT_EQ(read->rates->factors.covariance, table.rates->factors.covariance);
}

// A file of observed steps alone is enough for whoever loads it, and names a machine that is there.
TEST(ObservedRuns, NeedNoMachineBesideTheirFile) {
  CostTable table;
  table.machine_name = h100().name;
  table.is_accelerator = true;
  table.rates = with_products(1.3);
  const std::string file = testing::TempDir() + "observed_costs.json";
  ASSERT_TRUE(save_cost_table(table, file));
  const auto loaded = load_cost_table(file);
  ASSERT_TRUE(loaded) << loaded.error().text();
  PredictionOptions options;
  options.costs = &*loaded;
  EXPECT_EQ(predict(llama_1b(2, 4096, 8), options).step_time,
            predicted(llama_1b(2, 4096, 8), with_products(1.3)).step_time);
  table.rates->machine = "none-such";
  ASSERT_TRUE(save_cost_table(table, file));
  const auto refused = load_cost_table(file);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("none-such"), std::string::npos);
}

}  // namespace
}  // namespace foreshard::simulator
