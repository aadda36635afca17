// Times from data sheets, by hand, on machines of several vendors and sizes.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "models/program/bus_bandwidth.hpp"
#include "simulator/costs/cost_model.hpp"
#include "simulator/network/collective_time.hpp"

namespace foreshard::simulator {
namespace {

// Nanoseconds on one of 8 devices of a node, or of `nodes` with as many each.
double ns(const char* machine, const CostKey& key, int ranks = 8, int nodes = 1,
          const TaskPlace& place = {}) {
  return machine_costs(*load_machine(machine), ranks, nodes)->estimate(key, place).ns;
}

CostKey bf16(Operator op, CostDims dims) {
  return {op, DType::bf16, DType::bf16, DType::bf16, dims};
}

CostKey collective(Operator op, std::int64_t bytes, std::int64_t ranks) {
  return {op, DType::fp32, DType::fp32, DType::fp32, {bytes, ranks}};
}

// 2 x 8192 x 4096 x 4096 = 2.749e11 FLOPs, at the rate of a long run and a little more: tiles do not
// fill the last wave, and each has to fill its pipeline.
TEST(MachineCosts, MatrixProductsReachAShareOfTheBestThatWasMeasured) {
  const CostKey product = bf16(Operator::matmul, {8192, 4096, 4096});
  const auto expect_near_rate = [&](const char* machine, double flops_per_ns) {
    EXPECT_GT(ns(machine, product), 2.749e11 / flops_per_ns) << machine;
    EXPECT_LT(ns(machine, product), 1.2 * 2.749e11 / flops_per_ns) << machine;
  };
  expect_near_rate("a100-sxm-80", 0.84 * 271.2e3);
  expect_near_rate("mi300x", 0.88 * 668.4e3);
  expect_near_rate("l40s", 0.85 * 0.70 * 362e3);           // nobody measured it
  expect_near_rate("v100-sxm2-32", 0.85 * 0.72 * 15.7e3);  // no bf16 units: fp32's rate
}

TEST(MachineCosts, WhoeverNamesAPartWithoutBf16IsTold) {
  const auto warns = [](const char* machine) {
    const auto all = machine_costs(*load_machine(machine), 8, 1)->wording.warnings;
    return std::any_of(all.begin(), all.end(), [](const std::string& warning) {
      return warning.find("no rate for bf16") != std::string::npos;
    });
  };
  EXPECT_TRUE(warns("v100-sxm2-32"));
  EXPECT_FALSE(warns("a100-sxm-80"));
}

TEST(MachineCosts, WhatMovesBytesTakesTheMemorysTime) {
  const CostKey cast{Operator::cast, DType::bf16, DType::fp32, DType::bf16, {100'000'000}};
  ASSERT_DOUBLE_EQ(bytes_moved(cast), 6e8);
  EXPECT_NEAR(ns("mi300x", cast), 1500 + 6e8 / (0.81 * 5300), 1);
  EXPECT_NEAR(ns("a10g", cast), 1500 + 6e8 / (0.85 * 600), 1);
}

TEST(MachineCosts, CopiesTakeTheHostLink) {
  const CostKey copy = collective(Operator::copy_host_to_device, 1'000'000'000, 0);
  EXPECT_NEAR(ns("v100-sxm2-32", copy, 1), 8000 + 1e9 / (0.85 * 15.75), 1);
  EXPECT_NEAR(ns("v100-sxm2-32", copy, 8), 8000 + 2e9 / (0.85 * 15.75), 1);  // pairs share a link
  EXPECT_NEAR(ns("gh200-96", copy, 1), 8000 + 1e9 / (0.85 * 450), 1);
}

// A host that was found to take twice as long does so once, whatever it runs.
TEST(MachineCosts, ASlowHostIsSlowOnce) {
  RateFactors factors = prior_factors(kernel_rates(*load_machine("h100-sxm")));
  factors.logarithm[static_cast<std::size_t>(Rate::host)] = std::log(2.0);
  const Machine machine = *load_machine("h100-sxm");
  const auto usual = machine_costs(machine, 8, 1), slow = machine_costs(machine, 8, 1, &factors);
  const HostCosts of_usual = usual->platform.engine.host, of_slow = slow->platform.engine.host;
  for (std::size_t k = 0; k < of_usual.issue_ns.size(); ++k) {
    EXPECT_EQ(of_slow.issue_ns[k], 2 * of_usual.issue_ns[k]) << k;
  }
  EXPECT_DOUBLE_EQ(slow->platform.pytorch_host->framework,
                   2 * usual->platform.pytorch_host->framework);
  EXPECT_DOUBLE_EQ(slow->platform.pytorch_host->driver, 2 * usual->platform.pytorch_host->driver);
}

TEST(MachineCosts, HostWorkTakesTheHostsMemory) {
  const CostKey adamw{Operator::adamw, DType::fp32, DType::fp32, DType::fp32, {1'000'000}};
  const double on_host = ns("h100-sxm", adamw, 8, 1, {true, 1});
  EXPECT_DOUBLE_EQ(on_host, bytes_moved(adamw) / 20);
  EXPECT_GT(on_host, 10 * ns("h100-sxm", adamw));
}

TEST(MachineCosts, CollectivesAreThoseOfTheMachinesNetwork) {
  const CollectiveNetwork h100(*load_machine("h100-sxm"));
  const CostKey gather = collective(Operator::all_gather, 436'000'000, 8);
  EXPECT_DOUBLE_EQ(ns("h100-sxm", gather), h100.time(Operator::all_gather, 436e6, {8, 1, 8, 8}).ns);
  // 8 H200 gather 256 MiB at 353 GB/s of bus bandwidth (MIT ORCD report).
  const CostKey measured = collective(Operator::all_gather, 256 << 20, 8);
  EXPECT_NEAR(bus_gb_s(Operator::all_gather, 256 << 20, 8, ns("h200", measured)), 353, 0.1 * 353);
}

// Collectives were measured on four nodes and fewer: on more the law is a guess, of which a step is as unsure as
// it waits for them.
TEST(MachineCosts, CollectivesOfManyNodesAreLessSure) {
  const auto error = [](std::int64_t nodes) {
    const int ranks = static_cast<int>(8 * nodes);
    const CostKey key{Operator::all_gather, DType::bf16, {}, {}, {1 << 28, ranks}};
    const auto costs = machine_costs(*load_machine("h100-sxm"), ranks, static_cast<int>(nodes));
    return costs->estimate(key, {.nodes = nodes}).error;
  };
  EXPECT_DOUBLE_EQ(error(4), error(2));
  EXPECT_NEAR(std::hypot(error(4), 0.24), error(32), 1e-9);
  EXPECT_GT(error(256), error(32));
}

TEST(MachineCosts, GroupsThatStraddleNodesShareFewerNetworkCards) {
  // All ranks of a node of 8 communicate, so six ranks on two nodes take 3 of 8 cards, 18.75 of 50
  // GB/s, or 2 of 8 where they lie unevenly; twelve take 6, 37.5 GB/s; eight in one node none.
  const auto gather = [](std::int64_t ranks, std::int64_t nodes, std::int64_t fewest = 0) {
    return ns("a100-sxm-40", collective(Operator::all_gather, 1'000'000'000, ranks), 24, 3,
              {false, nodes, fewest});
  };
  EXPECT_GT(gather(6, 2), 1e9 * 5 / 6 / 18.75);
  EXPECT_GT(gather(12, 2), 1e9 * 11 / 12 / 37.5);
  EXPECT_GT(gather(6, 2, 2), 1.4 * gather(6, 2));
  EXPECT_GT(gather(6, 2), 1.5 * gather(12, 2));
  EXPECT_LT(gather(8, 1), 1e9 * 7 / 8 / 200);
  // 16 ranks on one GB200 domain of 72, or on two nodes of 8 B200.
  const CostKey key = collective(Operator::all_gather, 1'000'000'000, 16);
  EXPECT_LT(ns("gb200", key, 16, 1), ns("b200", key, 16, 2, {false, 2}));
}

}  // namespace
}  // namespace foreshard::simulator
