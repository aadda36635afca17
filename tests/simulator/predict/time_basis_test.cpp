// What a step's time rests on: the parts add up, and each cost's source is the one it has.
#include "simulator/predict/time_basis.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "simulator/predict/prediction.hpp"
#include "simulator/predict/rate_sensitivity.hpp"
#include "tests/simulator/predict/h100.hpp"
#include "tests/simulator/predict/log_width.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::simulator {
namespace {

Job small_job(OperatorSetName operators, int ranks, std::int64_t micro_batch = 2) {
  Plan plan;
  plan.operators = operators;
  plan.batch.micro_batch = micro_batch;
  plan.optimizer.kernel =
      operators == OperatorSetName::foreshard ? OptimizerKernel::fused : OptimizerKernel::foreach;
  return make_job(tests::small_llama({1024, 2816, 4, 8, 4, 8000}), plan, "plan", ranks, 1, &h100())
      .value();
}

Prediction with_basis(const Job& job, const CostTable* costs = nullptr) {
  PredictionOptions options;
  options.costs = costs;
  options.machine = &h100();
  options.wants_time_basis = true;
  return predict(job, options);
}

double variances(const TimeBasis& basis) {
  return std::accumulate(
      basis.components.begin(), basis.components.end(), 0.0,
      [](double sum, const UncertaintyComponent& part) { return sum + part.variance; });
}

CostTable observed(const RateFactors& factors) {
  CostTable table;
  table.machine_name = h100().name;
  table.is_accelerator = true;
  table.rates = DeviceRates{"h100-sxm", factors, {}};
  return table;
}

TEST(TimeBasis, VariancesAddUpToTheBand) {
  RateFactors fitted = prior_factors(kernel_rates(*load_machine("h100-sxm")));
  fitted.covariance[0][2] = fitted.covariance[2][0] = -0.001;  // limits are no longer independent
  const CostTable table = observed(fitted);
  for (const CostTable* costs : {static_cast<const CostTable*>(nullptr), &table}) {
    for (const int ranks : {1, 8}) {
      for (const auto operators : {OperatorSetName::foreshard, OperatorSetName::pytorch_eager}) {
        const Prediction p = with_basis(small_job(operators, ranks), costs);
        const TimeBasis& basis = *p.time_basis;
        EXPECT_NEAR(basis.quantile * std::sqrt(variances(basis)), basis.half_width, 1e-9);
        EXPECT_NEAR(basis.half_width, log_width(p), 1e-6);
        const auto has = [&](const char* name) {
          return std::any_of(basis.components.begin(), basis.components.end(),
                             [&](const UncertaintyComponent& part) { return part.name == name; });
        };
        EXPECT_EQ(has("(slowest rank)"), ranks > 1);
        EXPECT_TRUE(has("product") && has("memory") && has("(left out)"));
      }
    }
  }
}

TEST(TimeBasis, TheShareOfEachLimitIsWhatMovingItDoes) {
  const Job large = small_job(OperatorSetName::foreshard, 8, 64);
  const Prediction p = with_basis(large);
  const RateSensitivity sensitivity =
      rate_sensitivity(large, h100(), prior_factors(kernel_rates(*load_machine("h100-sxm"))));
  for (std::size_t r = 0; r < kRates; ++r) {
    EXPECT_NEAR(p.uncertainty.rates[r], sensitivity.gradient[r], 0.05) << kRateNames[r];
  }
  // Kernels of so little work wait for the host.
  const Prediction small = with_basis(small_job(OperatorSetName::pytorch_eager, 1, 1));
  EXPECT_GT(small.uncertainty.rates[static_cast<std::size_t>(Rate::host)], 0.5);
}

TEST(TimeBasis, OperatorsAreAllOfTheStepsWork) {
  const Prediction p = with_basis(small_job(OperatorSetName::pytorch_eager, 8));
  const RankClass& first = p.run.classes[0];
  const auto& counts = first.costs.counts[first.program.number_of(2)];
  std::int64_t work = 0, times = 0, listed = 0, listed_times = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    work += counts[c] * first.costs.costs[c].ns;
    times += counts[c];
  }
  for (const OperatorBasis& op : p.time_basis->operators) {
    listed += op.ns;
    listed_times += op.count;
    EXPECT_EQ(op.source, CostSource::modelled);
    EXPECT_NE(op.basis.find("catalogue"), std::string::npos);
  }
  EXPECT_EQ(listed, work);
  EXPECT_EQ(listed_times, times);
}

// A table that knows the products of one shape, three times over, and nothing else.
TEST(TimeBasis, NamesTheNearestMeasurementOfEachOperator) {
  const Job job = small_job(OperatorSetName::foreshard, 1);
  const Prediction modelled = with_basis(job);
  CostTable table;
  table.machine_name = h100().name;
  table.is_accelerator = true;
  ThreadCountCosts& regime = table.regimes.emplace_back();
  const std::vector<CostKey>& keys = modelled.run.classes[0].program.cost_keys;
  const auto product = std::find_if(keys.begin(), keys.end(),
                                    [](const CostKey& key) { return key.op == Operator::matmul; });
  ASSERT_NE(product, keys.end());
  regime.measured[*product] = {1e6, 3};
  const Prediction p = with_basis(job, &table);
  int measured = 0;
  for (const OperatorBasis& op : p.time_basis->operators) {
    if (op.source == CostSource::measured) {
      ++measured;
      EXPECT_EQ(op.name, "matmul");
      EXPECT_EQ(op.basis, "measured 3 times");
      EXPECT_EQ(op.deviation, 0);
    } else if (op.name == "matmul") {
      EXPECT_NE(op.basis.find("nearest " + text(*product)), std::string::npos) << op.basis;
    }
  }
  EXPECT_EQ(measured, 1);
  EXPECT_NEAR(p.time_basis->quantile * std::sqrt(variances(*p.time_basis)), log_width(p), 1e-6);
}

}  // namespace
}  // namespace foreshard::simulator
