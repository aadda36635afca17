// Runs whose throughput alone is known, on machines whose true rates the test made up.
#include "simulator/fit/observed_runs.hpp"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "simulator/predict/exercised.hpp"
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
  const auto rates = fit_observed(runs, h100(), "h100-sxm");
  ASSERT_TRUE(rates) << rates.error().text();
  EXPECT_GT(rates->factors.factor(Rate::product), 1.04);

  const Job other = llama_1b(4, 2048, 8);
  const auto true_ns = static_cast<double>(predicted(other, truth).step_time.count());
  const Prediction fitted = predicted(other, *rates), unfitted = predicted(other, with_products(1));
  EXPECT_NEAR(static_cast<double>(fitted.step_time.count()), true_ns, 0.02 * true_ns);
  EXPECT_GT(std::abs(static_cast<double>(unfitted.step_time.count()) - true_ns), 0.03 * true_ns);
  EXPECT_LT(half_width(fitted), half_width(unfitted));
  EXPECT_GT(fitted.cost_sources.fitted, 0);
  EXPECT_GT(fitted.cost_sources.fitted, 50 * fitted.cost_sources.modelled);  // segments of memory

  for (std::size_t r = 0; r < runs.size(); ++r) {
    const ObservedStep& step = rates->observed[r];
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

// A figure read from the same run again is no further run.
TEST(ObservedRuns, GivenSeveralTimesSayWhatTheySayOnce) {
  const Job job = llama_1b(4, 4096, 8);
  const auto ns = static_cast<double>(predicted(job, with_products(1)).step_time.count());
  const ObservedRun run{"plan.toml", job, Nanoseconds(std::llround(1.2 * ns))};
  const Prediction once = predicted(job, *fit_observed({run}, h100(), "h100-sxm"));
  const Prediction often = predicted(job, *fit_observed({run, run, run, run}, h100(), "h100-sxm"));
  EXPECT_EQ(once.step_time, often.step_time);
  EXPECT_NEAR(half_width(once), half_width(often), 1e-9);
}

TEST(ObservedRuns, EqualToThePredictionLeaveIt) {
  const Job job = llama_1b(4, 4096, 8);
  const Nanoseconds expected = predicted(job, with_products(1)).step_time;
  const auto rates = fit_observed({{"plan.toml", job, expected}}, h100(), "h100-sxm");
  ASSERT_TRUE(rates);
  const auto ns = static_cast<double>(expected.count());
  EXPECT_NEAR(static_cast<double>(predicted(job, *rates).step_time.count()), ns, 1e-4 * ns);
}

// However far it is from the catalogue, the plan that was run is predicted as it ran.
TEST(ObservedRuns, ComeBackAsTheyWere) {
  const Job job = llama_1b(4, 4096, 8);
  const auto ns = static_cast<double>(predicted(job, with_products(1)).step_time.count());
  for (const double speed : {0.8, 0.6, 0.4}) {
    const ObservedRun run{"plan.toml", job, Nanoseconds(std::llround(ns / speed))};
    const auto rates = fit_observed({run}, h100(), "h100-sxm");
    ASSERT_TRUE(rates) << rates.error().text();
    const auto again = static_cast<double>(predicted(job, *rates).step_time.count());
    EXPECT_NEAR(ns / again, speed, 0.03 * speed);
  }
}

// A figure of one GPU that was taken for that of eight is no slow cluster.
TEST(ObservedRuns, BeyondBeliefAreDoubted) {
  const Job job = llama_1b(4, 4096, 8);
  const Nanoseconds taken(8 * predicted(job, with_products(1)).step_time.count());
  const auto rates = fit_observed({{"plan.toml", job, taken}}, h100(), "h100-sxm");
  ASSERT_TRUE(rates) << rates.error().text();
  EXPECT_GT(rates->observed.front().over_fitted(), 2);
  EXPECT_GT(rates->factors.unexplained, 0.5);
}

// What is common to all limits carries over to a plan as far as its step has its work in common.
TEST(ObservedRuns, MoveOtherPlansInPart) {
  const Job near = llama_1b(4, 4096, 8);
  Plan plan;
  plan.operators = OperatorSetName::pytorch_eager;
  plan.optimizer.kernel = OptimizerKernel::foreach;
  const Job far =
      make_job(*load_llama_config("llama-3.2-1b"), plan, "test", 64, 8, &h100()).value();
  PredictionOptions catalogue;
  catalogue.machine = &h100();
  const auto expected = [&](const Job& job) {
    return static_cast<double>(predict(job, catalogue).step_time.count());
  };
  const Nanoseconds taken(std::llround(expected(near) / 0.6));
  const auto rates = fit_observed({{"plan.toml", near, taken}}, h100(), "h100-sxm");
  ASSERT_TRUE(rates) << rates.error().text();
  const Prediction there = predicted(far, *rates);
  const double slower = static_cast<double>(there.step_time.count()) / expected(far);
  EXPECT_GT(slower, 1.1);
  EXPECT_LT(slower, 1.5);
  EXPECT_LT(exercised_share(there.exercise, rates->observed), 0.8);
}

// One run on one node leaves at least half of the band of another plan on eight: of their network, of the
// kernels that only the other plan has, and of their number nothing was seen.
TEST(ObservedRuns, OnOneNodeLeaveMostOfTheDoubtOfEight) {
  for (const char* id : {"h100-sxm", "l40s", "b200"}) {
    const Machine machine = *load_machine(id);
    const auto job = [&](int ranks, OperatorSetName operators) {
      Plan plan;
      plan.operators = operators;
      plan.batch.sequence = 2048;
      plan.checkpointing.mode = CheckpointMode::full;
      return make_job(*load_llama_config("llama-3.2-1b"), plan, "test", ranks, 0, &machine).value();
    };
    PredictionOptions options;
    options.machine = &machine;
    const Job near = job(8, OperatorSetName::foreshard),
              far = job(64, OperatorSetName::pytorch_eager);
    const double unknown = std::log1p(half_width(predict(far, options)));
    const Nanoseconds taken(predict(near, options).step_time.count() * 11 / 10);
    CostTable table;
    table.machine_name = machine.name;
    table.is_accelerator = true;
    table.rates = *fit_observed({{"plan.toml", near, taken}}, machine, id);
    options.costs = &table;
    const double far_after = std::log1p(half_width(predict(far, options)));
    const double near_after = std::log1p(half_width(predict(near, options)));
    EXPECT_GT(far_after, 0.5 * unknown) << id;
    EXPECT_LT(near_after, 0.7 * far_after) << id;
  }
}

TEST(ObservedRuns, NoneLeaveTheCatalogueAsItIs) {
  const auto rates = fit_observed({}, h100(), "h100-sxm");
  ASSERT_TRUE(rates);
  const Job job = llama_1b(2, 4096, 8);
  PredictionOptions catalogue;
  catalogue.machine = &h100();
  EXPECT_EQ(predicted(job, *rates).step_time, predict(job, catalogue).step_time);
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
  table.rates->factors.explained[1][2] = 0.004;
  table.rates->observed.push_back({"a.toml", "llama", 8, 1'500, 1'000, 1'400});
  table.rates->observed.push_back({"b.toml", "llama", 8, 1'500, 1'000, 1'400, "{\"ranks\":8}"});
  ObservedStep& shown = table.rates->observed.back();
  shown.gradient = {0.5, 0.1, 0.2, 0.1, 0, 0, 0.1};
  shown.log_ratio = -0.3;
  shown.exercise = {2, {{"product matmul bf16", 0.6}, {"host", 0.4}}};
  const auto read = parse_cost_table(to_json(table), "costs.json");
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_TRUE(read->rates);
  EXPECT_EQ(to_json(*read), to_json(table));
  EXPECT_EQ(read->rates->machine, "h100-sxm");
  EXPECT_EQ(read->rates->factors.covariance, table.rates->factors.covariance);
}

// Files of earlier versions have one rate of all links, and do not say what their runs showed.
TEST(ObservedRuns, OfEarlierVersionsAreRead) {
  constexpr const char* kFive[] = {"product", "attention", "memory", "links", "host"};
  CostTable table;
  table.machine_name = h100().name;
  table.is_accelerator = true;
  table.rates = with_products(1);
  auto json = nlohmann::json::parse(to_json(table));
  auto& rates = json["device_rates"];
  rates["factors"] = nlohmann::json::array();
  for (int i = 0; i < 5; ++i) {
    nlohmann::json row{{"rate", kFive[i]}, {"log_factor", 0.1 * i}};
    for (int j = 0; j < 5; ++j) row[std::string("covariance_") + kFive[j]] = 0.01 * (1 + i + j);
    rates["factors"].push_back(row);
  }
  rates["observed"] = {{{"plan", "a.toml"},
                        {"model", "llama"},
                        {"ranks", 8},
                        {"measured_ns", 1500},
                        {"catalogue_ns", 1000},
                        {"fitted_ns", 1400}}};
  const auto read = parse_cost_table(json.dump(), "costs.json");
  ASSERT_TRUE(read) << read.error().text();
  const RateFactors& factors = read->rates->factors;
  const auto at = [](Rate rate) { return static_cast<std::size_t>(rate); };
  for (const Rate link : {Rate::link, Rate::network, Rate::copy}) {
    EXPECT_NEAR(factors.logarithm[at(link)], 0.3, 1e-12);
    EXPECT_NEAR(factors.covariance[at(link)][at(Rate::host)], 0.08, 1e-12);
    EXPECT_NEAR(factors.covariance[at(Rate::host)][at(link)], 0.08, 1e-12);
    EXPECT_NEAR(factors.covariance[at(link)][at(Rate::link)], 0.07, 1e-12);
  }
  EXPECT_NEAR(factors.logarithm[at(Rate::host)], 0.4, 1e-12);
  const Job job = llama_1b(2, 4096, 8);
  EXPECT_GT(half_width(predicted(job, *read->rates)), 0);
  EXPECT_EQ(predicted(job, *read->rates).uncertainty.unexercised, 0);

  auto former = nlohmann::json::parse(to_json(table));  // before "explained_" had that name
  former["device_rates"]["factors"][0].erase("explained_memory");
  former["device_rates"]["factors"][0]["learnt_memory"] = 0.004;
  const auto renamed = parse_cost_table(former.dump(), "costs.json");
  ASSERT_TRUE(renamed) << renamed.error().text();
  EXPECT_EQ(renamed->rates->factors.explained[0][at(Rate::memory)], 0.004);

  rates["factors"][0]["rate"] = "link speed";
  const auto wrong = parse_cost_table(json.dump(), "costs.json");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text().find("network"), std::string::npos) << wrong.error().text();
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
