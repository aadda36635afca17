// Times from data sheets, by hand, on machines of several vendors and sizes.
#include <utility>

#include <gtest/gtest.h>

#include "simulator/costs/cost_model.hpp"

namespace foreshard::simulator {
namespace {

// Nanoseconds on one of 8 devices of a node, or of `nodes` with as many each.
double ns(const char* machine, const CostKey& key, int ranks = 8, int nodes = 1,
          const TaskPlace& place = {}) {
  return machine_costs(*load_machine(machine), ranks, nodes)->estimate(key, place).ns;
}

CostKey bf16(Operator op, std::array<std::int64_t, 5> dims) {
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

TEST(MachineCosts, WhatMovesBytesTakesTheMemorysTime) {
  const CostKey cast{Operator::cast, DType::bf16, DType::fp32, DType::bf16, {100'000'000}};
  ASSERT_DOUBLE_EQ(bytes_moved(cast), 6e8);
  EXPECT_NEAR(ns("mi300x", cast), 1500 + 6e8 / (0.75 * 5300), 1);
  EXPECT_NEAR(ns("a10g", cast), 1500 + 6e8 / (0.85 * 600), 1);
}

TEST(MachineCosts, CopiesTakeTheHostLink) {
  const CostKey copy = collective(Operator::copy_host_to_device, 1'000'000'000, 0);
  EXPECT_NEAR(ns("v100-sxm2-32", copy), 8000 + 1e9 / (0.85 * 15.75), 1);
  EXPECT_NEAR(ns("gh200-96", copy, 1), 8000 + 1e9 / (0.85 * 450), 1);
}

TEST(MachineCosts, HostWorkTakesTheHostsMemory) {
  const CostKey adamw{Operator::adamw, DType::fp32, DType::fp32, DType::fp32, {1'000'000}};
  const double on_host = ns("h100-sxm", adamw, 8, 1, {true, 1});
  EXPECT_DOUBLE_EQ(on_host, bytes_moved(adamw) / 20);
  EXPECT_GT(on_host, 10 * ns("h100-sxm", adamw));
}

TEST(MachineCosts, GathersInsideANodeRunOnItsLinks) {
  // A block of 436 MB on 8 H100: a ring of 360 GB/s, 7 of 8 parts; 8.4 us and 7 hops of 3.4 before
  // it, 20 to start: 32.2 + 20 + 436e6 x 7/8 / 360 = 1111.9 us.
  EXPECT_NEAR(ns("h100-sxm", collective(Operator::all_gather, 436'000'000, 8)), 1111.9e3, 100);
  // Four of the 8 devices of an MI300X node reach 3 of 7 peers: 0.7 x 448 x 3/7 = 134.4 GB/s.
  // 8.4 + 3 x 3.4 + 20 + 436e6 x 3/4 / 134.4 = 2471.7 us.
  EXPECT_NEAR(ns("mi300x", collective(Operator::all_gather, 436'000'000, 4), 4), 2471.7e3, 100);
}

TEST(MachineCosts, AllReducesAreNearWhatIsMeasured) {
  // 8 H200, NCCL 2.27: bytes and microseconds, launch included. The worst are the middle sizes, at
  // which NCCL changes its algorithm.
  const std::pair<std::int64_t, double> measured[] = {
      {32 << 10, 39.8},  {256 << 10, 39.1}, {1 << 20, 46.0},   {4 << 20, 68.5},
      {16 << 20, 133.5}, {32 << 20, 212.9}, {64 << 20, 338.9}, {128 << 20, 584.4},
      {256 << 20, 1077}, {1 << 30, 4053}};
  for (const auto& [bytes, us] : measured) {
    const double predicted = ns("h200", collective(Operator::all_reduce, bytes, 8)) / 1000;
    EXPECT_NEAR(predicted, us, (bytes >= 128 << 20 ? 0.08 : 0.22) * us) << bytes;
  }
}

TEST(MachineCosts, GathersBetweenNodesRunOnTheirNetworkCards) {
  // 16 A100 40GB on two nodes of 8 x 6.25 GB/s, 1 GB: 50 GB/s, 15 of 16 parts. 8.4 us, 14 hops of
  // 3.4 inside and one of 14 between, 20 to start: 90 + 18,750 us.
  const CostKey gather = collective(Operator::all_gather, 1'000'000'000, 16);
  EXPECT_NEAR(ns("a100-sxm-40", gather, 16, 2, {false, 2}), 18'840e3, 100);
  // The same on one GB200 domain of 72, or on two nodes of 8 B200: 400 GB/s.
  EXPECT_NEAR(ns("b200", gather, 16, 2, {false, 2}), 90e3 + 1e9 * 15 / 16 / 400, 100);
  EXPECT_LT(ns("gb200", gather, 16, 1), ns("b200", gather, 16, 2, {false, 2}));
}

TEST(MachineCosts, GroupsThatStraddleNodesShareFewerNetworkCards) {
  // Six ranks on two nodes take 3 of 8 cards, 18.75 of 50 GB/s; twelve take 6, 37.5 GB/s; eight in
  // one node none. 1 GB and 5/6, 11/12, 7/8 of it: 44.4, 24.4 and 3.6 ms, and latencies.
  const auto gather = [](std::int64_t ranks, std::int64_t nodes) {
    return ns("a100-sxm-40", collective(Operator::all_gather, 1'000'000'000, ranks), 24, 3,
              {false, nodes});
  };
  EXPECT_NEAR(gather(6, 2), 1e9 * 5 / 6 / 18.75, 0.1e6);
  EXPECT_NEAR(gather(12, 2), 1e9 * 11 / 12 / 37.5, 0.1e6);
  EXPECT_NEAR(gather(8, 1), 1e9 * 7 / 8 / 240, 0.1e6);
}

}  // namespace
}  // namespace foreshard::simulator
