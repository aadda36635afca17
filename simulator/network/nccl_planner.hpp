// How long NCCL takes for a collective, by the formula with which NCCL itself chooses its algorithm
// (version 2.28, graph/tuning): the smallest, over algorithm and protocol, of
//
//   latency + bytes of the whole buffer / algorithm bandwidth
//
// Published measurements lie 0 to 30 % above it for large messages and up to 2.6 times above it below
// 1 MiB, where the launch dominates: the caller adds what a launch costs.
#pragma once

#include <cstdint>

#include "models/hardware/hardware.hpp"
#include "models/program/operators.hpp"

namespace foreshard::simulator {

enum class GpuGeneration : std::uint8_t { volta, ampere, hopper, blackwell };

// What NCCL's search finds on a machine: rings of so many channels at so many GB/s each.
struct NcclSystem {
  GpuGeneration generation = GpuGeneration::hopper;
  bool has_nvlink = true;
  bool has_nvls = true;  // NVLink switches that reduce
  double channels = 12;
  double channel_gb_s = 30;  // inside a node
  double nvls_channels = 8;
  double nvls_channel_gb_s = 40;
  double node_nic_gb_s = 0;  // all network cards of a node together, one way
  int gpus_per_node = 8;
  bool is_mesh = false;  // links lead to one peer each: a group of few has only those between them
};

// That of a machine of the catalogue. AMD's are planned as rings over their links.
NcclSystem nccl_system(const Machine& machine);

// `op` is all_gather, reduce_scatter or all_reduce; `bytes` those of the whole buffer.
double nccl_time_ns(const NcclSystem& system, Operator op, double bytes, std::int64_t ranks,
                    std::int64_t nodes);

}  // namespace foreshard::simulator
