// What NCCL finds on the machines of the catalogue.
#include <gtest/gtest.h>

#include "simulator/network/nccl_planner.hpp"

namespace foreshard::simulator {
namespace {

NcclSystem system_of(const std::string& id) {
  return nccl_system(*load_machine(id));
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
  EXPECT_EQ(system_of("rtx4090").gpus_per_node, 8);
}

}  // namespace
}  // namespace foreshard::simulator
