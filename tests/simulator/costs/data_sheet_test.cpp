// What no work on a device can beat, by hand from its data sheet.
#include "simulator/costs/data_sheet.hpp"

#include <gtest/gtest.h>

#include "tests/simulator/cost_keys.hpp"

namespace foreshard::simulator {
namespace {

Machine device() {
  Machine machine;
  machine.memory_bandwidth = 2e12;
  machine.bf16_flops = 1000e12;
  machine.fp32_flops = 50e12;
  machine.link_bandwidth = 400e9;
  machine.host_bandwidth = 50e9;
  machine.gpus_per_node = 8;
  machine.network_bandwidth = 50e9;
  machine.l2_cache = Bytes{50'000'000};
  return machine;
}

TEST(DataSheet, BoundsProductsByArithmeticOrMemory) {
  // 2 x 4096^3 operations at 1e15 a second: 137.4 us; 3 x 4096^2 x 2 bytes at 2e12: 50.3 us.
  EXPECT_NEAR(least_ns(key(Operator::matmul, {4096, 4096, 4096}), device()), 137'439, 1);
  // One row: 2 x 4096^2 operations take 34 ns, the weights' 33.6 MB 16.8 us.
  EXPECT_NEAR(least_ns(key(Operator::matmul, {1, 4096, 4096}), device()), 16'785, 1);
  // The best product anyone has published counts, not the peak.
  Machine measured = device();
  measured.measured_bf16_flops = 500e12;
  EXPECT_NEAR(least_ns(key(Operator::matmul, {4096, 4096, 4096}), measured), 274'878, 1);
}

TEST(DataSheet, BoundsCopiesByTheHostLink) {
  EXPECT_NEAR(least_ns(key(Operator::copy_device_to_host, {100'000'000}), device()), 2e6, 1);
}

TEST(DataSheet, BoundsCollectivesByLinksAndNetwork) {
  // Seven eighths of 800 MB over 400 GB/s.
  const CostKey within = key(Operator::all_gather, {800'000'000, 8});
  EXPECT_NEAR(least_ns(within, device(), 1), 1.75e6, 1);
  // Of 64 ranks on 8 nodes: seven eighths over a node's 8 x 50 GB/s.
  const CostKey across = key(Operator::all_gather, {800'000'000, 64});
  EXPECT_NEAR(least_ns(across, device(), 8), 1.75e6, 1);
  EXPECT_EQ(least_ns(key(Operator::all_gather, {800'000'000, 1}), device()), 0);
}

TEST(DataSheet, SmallOperandsMayComeFromCaches) {
  const CostKey small = key(Operator::memory_bound, {10'000'000, 10'000'000});
  const CostKey large = key(Operator::memory_bound, {1'000'000'000, 1'000'000'000});
  EXPECT_FALSE(is_impossible(5'000, small, device()));  // 10 us from memory
  EXPECT_TRUE(is_impossible(500'000, large, device()));
  EXPECT_FALSE(is_impossible(1'000'000, large, device()));
  EXPECT_TRUE(is_impossible(100'000, key(Operator::matmul, {4096, 4096, 4096}), device()));
}

// An H100 records products of a step at 817 TFLOP/s; the best published one has 794.5, the peak is 989.
TEST(DataSheet, ProductsMayBeatTheBestPublishedOneButNotThePeak) {
  Machine measured = device();
  measured.measured_bf16_flops = 800e12;
  const CostKey product = key(Operator::matmul, {4096, 4096, 4096});
  EXPECT_FALSE(is_impossible(flops(product) / 900e3, product, measured));
  EXPECT_TRUE(is_impossible(flops(product) / 1100e3, product, measured));
}

TEST(DataSheet, TheFastestPartIsAtLeastAsFastAsAny) {
  for (const Machine& machine : bundled_machines()) {
    EXPECT_LE(least_rates(Operator::matmul, DType::bf16, fastest_machine()).ns_per_flop,
              least_rates(Operator::matmul, DType::bf16, machine).ns_per_flop);
    EXPECT_LE(least_rates(Operator::add, DType::fp32, fastest_machine()).ns_per_byte,
              least_rates(Operator::add, DType::fp32, machine).ns_per_byte);
  }
}

}  // namespace
}  // namespace foreshard::simulator
