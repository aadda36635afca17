// Copies of all devices of a host at once: max-min fairness against the laws of sharing.
#include "simulator/costs/host_copies.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "models/hardware/host_links.hpp"

namespace foreshard::simulator {
namespace {

double sum(const std::vector<double>& rates) {
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

TEST(HostCopies, NoneIsFasterThanAloneAndTogetherTheyStayWithinTheHost) {
  for (const Machine& machine : bundled_machines()) {
    const HostLinks host = host_links_of(machine);
    const double alone = host_copy_rates(machine, 1)[0];
    EXPECT_GT(alone, 0) << machine.id;
    EXPECT_LE(alone, machine.host_bandwidth / 1e9) << machine.id;
    double slowest_before = alone;
    for (int devices = 1; devices <= host.devices; ++devices) {
      const auto rates = host_copy_rates(machine, devices);
      ASSERT_EQ(rates.size(), static_cast<std::size_t>(devices));
      for (const double rate : rates) EXPECT_LE(rate, alone * (1 + 1e-12)) << machine.id;
      const double slowest = host_copy_bytes_per_ns(machine, devices);
      EXPECT_LE(slowest, slowest_before * (1 + 1e-12)) << machine.id;
      slowest_before = slowest;
      if (host.memory_bandwidth > 0) {
        EXPECT_LE(sum(rates), host.memory_bandwidth / 1e9) << machine.id;
      }
      if (host.uplinks > 0 && host.uplink_bandwidth > 0) {
        EXPECT_LE(sum(rates), static_cast<double>(host.uplinks) * host.uplink_bandwidth / 1e9)
            << machine.id;
      }
    }
  }
}

// Two A100 behind one link of PCIe 4 have half of it each; an H100 has its own.
TEST(HostCopies, DevicesBehindOneSwitchShareItsLink) {
  const Machine a100 = *load_machine("a100-sxm-80"), h100 = *load_machine("h100-sxm");
  EXPECT_DOUBLE_EQ(host_copy_bytes_per_ns(a100, 1), 0.85 * 31.5);
  EXPECT_DOUBLE_EQ(host_copy_bytes_per_ns(a100, 8), 0.85 * 31.5 / 2);
  EXPECT_DOUBLE_EQ(host_copy_bytes_per_ns(h100, 8), host_copy_bytes_per_ns(h100, 1));
  // A rented host's own line comes before its part's: PCIe 3 on p4d, PCIe 4 on p5.
  EXPECT_DOUBLE_EQ(host_copy_bytes_per_ns(*load_machine("p4d.24xlarge"), 8), 0.85 * 15.75 / 2);
  EXPECT_DOUBLE_EQ(host_copy_bytes_per_ns(*load_machine("p5.48xlarge"), 8), 0.85 * 31.5);
  // What the catalogue has for Azure's host is that of the part.
  EXPECT_EQ(host_links_of(*load_machine("ND96isr_H100_v5")).uplinks, 8);
}

TEST(HostCopies, WorkOfTheHostStaysWithinItsMemory) {
  const Machine v100 = *load_machine("v100-sxm2-32"), h100 = *load_machine("h100-sxm");
  EXPECT_EQ(host_work_bytes_per_ns(v100, 1), 20);
  EXPECT_DOUBLE_EQ(host_work_bytes_per_ns(v100, 8), 0.8 * 153.6 / 8);
  EXPECT_EQ(host_work_bytes_per_ns(h100, 8), 20);
  for (const Machine& machine : bundled_machines()) {
    const HostLinks host = host_links_of(machine);
    const double memory = host.memory_bandwidth / 1e9;
    for (int ranks = 1; ranks <= host.devices && memory > 0; ++ranks) {
      EXPECT_LE(ranks * host_work_bytes_per_ns(machine, ranks), memory) << machine.id;
    }
  }
}

// As many as a host holds, whatever the number of ranks.
TEST(HostCopies, OtherHostsDoNotSlowThisOne) {
  const Machine a100 = *load_machine("a100-sxm-80");
  EXPECT_EQ(host_copy_bytes_per_ns(a100, 1024), host_copy_bytes_per_ns(a100, 8));
}

}  // namespace
}  // namespace foreshard::simulator
