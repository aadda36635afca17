// Copies between devices and their host, when all devices of the host copy at the same time, as the
// ranks of a sharded run do: each uses its own link, the uplink that it shares with the devices
// behind the same switch, and the host's main memory, by max-min fairness
// (simulator/engine/max_min.hpp).
#pragma once

#include <vector>

#include "models/hardware/hardware.hpp"

namespace foreshard::simulator {

// Bytes per nanosecond, one way, of each of so many devices of one host that copy at once; at least
// 1.
std::vector<double> host_copy_rates(const Machine& machine, int devices);

// Of the slowest, with as many devices at once as a host holds of so many ranks.
double host_copy_bytes_per_ns(const Machine& machine, int ranks);

// Bytes per nanosecond that work of the host itself reads and writes for each of so many ranks at
// once: together no more than the host's memory gives.
double host_work_bytes_per_ns(const Machine& machine, int ranks);

}  // namespace foreshard::simulator
