#include "simulator/costs/host_copies.hpp"

#include <algorithm>

#include "models/base/units.hpp"
#include "models/hardware/host_links.hpp"
#include "simulator/engine/max_min.hpp"

namespace foreshard::simulator {

std::vector<double> host_copy_rates(const Machine& machine, int devices) {
  const HostLinks host = host_links_of(machine);
  const double link = host.link_share * machine.host_bandwidth / 1e9;
  const std::int64_t behind_one = host.uplinks > 0 ? ceil_divide(host.devices, host.uplinks) : 1;
  // Resource 0 is the host's memory, the others are the uplinks.
  std::vector<double> capacities{host.memory_share * host.memory_bandwidth / 1e9};
  std::vector<Consumer> copies(static_cast<std::size_t>(devices));
  for (std::size_t d = 0; d < copies.size(); ++d) {
    const std::size_t uplink = d / static_cast<std::size_t>(behind_one) + 1;
    if (uplink == capacities.size()) {
      capacities.push_back(host.link_share * host.uplink_bandwidth / 1e9);
    }
    copies[d].use(0, link);
    copies[d].use(static_cast<std::int32_t>(uplink), link);
  }
  std::vector<double> rates(copies.size());
  MaxMinSolver(capacities).solve(copies, rates);
  for (double& rate : rates) rate *= link;
  return rates;
}

double host_copy_bytes_per_ns(const Machine& machine, int ranks) {
  const auto devices = std::min<std::int64_t>(ranks, host_links_of(machine).devices);
  const auto rates = host_copy_rates(machine, static_cast<int>(devices));
  return *std::min_element(rates.begin(), rates.end());
}

double host_work_bytes_per_ns(const Machine& machine, int ranks) {
  const HostLinks host = host_links_of(machine);
  const double alone = host.work_bandwidth / 1e9;
  if (host.memory_bandwidth <= 0) return alone;
  const auto sharing = static_cast<double>(std::min<std::int64_t>(ranks, host.devices));
  return std::min(alone, host.memory_share * host.memory_bandwidth / 1e9 / sharing);
}

}  // namespace foreshard::simulator
