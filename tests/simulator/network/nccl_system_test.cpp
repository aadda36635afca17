// What NCCL finds on the machines of the catalogue, and what large collectives then take.
#include <utility>

#include <gtest/gtest.h>

#include "simulator/costs/cost_model.hpp"
#include "simulator/network/nccl_planner.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kBytes = 4.0 * 1024 * 1024 * 1024;

NcclSystem system_of(const std::string& id) {
  return nccl_system(*load_machine(id));
}

// Bytes of a 4 GiB collective over its time, as nccl-tests corrects it for the ranks.
double bus_gb_s(const std::string& id, Operator op, int ranks, int nodes = 1) {
  const double sent = (op == Operator::all_reduce ? 2.0 : 1.0) * (ranks - 1) / ranks;
  return kBytes * sent / nccl_time_ns(system_of(id), op, kBytes, ranks, nodes);
}

TEST(NcclSystem, GenerationsAndSwitchesThatReduce) {
  struct Expected {
    const char* id;
    GpuGeneration generation;
    bool has_nvlink, has_nvls;
  };
  constexpr Expected kExpected[] = {
      {"v100-sxm2-32", GpuGeneration::volta, true, false},
      {"t4", GpuGeneration::volta, false, false},
      {"a100-sxm-80", GpuGeneration::ampere, true, false},
      {"l40s", GpuGeneration::ampere, false, false},
      {"h100-sxm", GpuGeneration::hopper, true, true},
      {"h100-pcie", GpuGeneration::hopper, false, false},
      {"b200", GpuGeneration::blackwell, true, true},
      {"rtx5090", GpuGeneration::blackwell, false, false},
      {"mi250x", GpuGeneration::ampere, true, false},
      {"mi300x", GpuGeneration::ampere, true, false},
      {"mi355x", GpuGeneration::ampere, true, false},
  };
  for (const Expected& expected : kExpected) {
    const NcclSystem system = system_of(expected.id);
    EXPECT_EQ(system.generation, expected.generation) << expected.id;
    EXPECT_EQ(system.has_nvlink, expected.has_nvlink) << expected.id;
    EXPECT_EQ(system.has_nvls, expected.has_nvls) << expected.id;
  }
}

TEST(NcclSystem, OfAMachineWithoutACapabilityPromisesNoSwitches) {
  Machine machine = *load_machine("h100-sxm");
  machine.compute_capability.clear();
  EXPECT_FALSE(nccl_system(machine).has_nvls);
}

TEST(NcclSystem, NodesAndNetworksAreTheMachines) {
  EXPECT_EQ(system_of("h100-sxm").gpus_per_node, 8);
  EXPECT_DOUBLE_EQ(system_of("h100-sxm").node_nic_gb_s, 8 * 50);
  EXPECT_EQ(system_of("gb200").gpus_per_node, 72);
  EXPECT_DOUBLE_EQ(system_of("a100-sxm-40").node_nic_gb_s, 8 * 6.25);
  EXPECT_EQ(system_of("rtx4090").gpus_per_node, 4);
}

TEST(NcclSystem, LargeCollectivesReachWhatIsMeasured) {
  // Bus bandwidths in GB/s, published measurements of large messages.
  EXPECT_NEAR(bus_gb_s("a100-sxm-80", Operator::all_reduce, 8), 234.9, 0.05 * 234.9);
  EXPECT_NEAR(bus_gb_s("h200", Operator::all_gather, 8), 361.4, 0.05 * 361.4);
  EXPECT_NEAR(bus_gb_s("h200", Operator::all_reduce, 8), 481, 0.05 * 481);
  EXPECT_NEAR(bus_gb_s("b200", Operator::all_reduce, 8), 790, 60);  // 740 to 846, by size
  EXPECT_NEAR(bus_gb_s("mi300x", Operator::all_reduce, 8), 312.9, 0.05 * 312.9);
  // A pair in a mesh has one link of seven.
  EXPECT_NEAR(bus_gb_s("mi300x", Operator::all_reduce, 2), 47.7, 0.1 * 47.7);
  // Between nodes their network cards: 8 x 6.25 GB/s of A100 40GB, 8 x 50 of H100.
  EXPECT_NEAR(bus_gb_s("a100-sxm-40", Operator::all_gather, 32, 4), 50, 2);
  EXPECT_NEAR(bus_gb_s("h100-sxm", Operator::all_gather, 32, 4), 360, 15);
}

}  // namespace
}  // namespace foreshard::simulator
