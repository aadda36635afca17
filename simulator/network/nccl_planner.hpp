// Which algorithm and protocol NCCL takes for a collective: by the formula with which NCCL itself
// chooses (version 2.28, graph/tuning), the smallest, over algorithm and protocol, of
//
//   latency + bytes of the whole buffer / algorithm bandwidth
//
// Measured times are far from these for buffers below 100 MiB and for networks, so the formula only
// chooses; times are those of collective_time.hpp. RCCL chooses by the same formula with constants
// of its own that are not published; Ampere's, the oldest with switches, stand in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "models/hardware/hardware.hpp"
#include "models/program/operators.hpp"

namespace foreshard::simulator {

enum class GpuGeneration : std::uint8_t { volta, ampere, hopper, blackwell };

// As NCCL_ALGO and NCCL_PROTO name them. Torus is not NCCL's but that of TPUs (torus.hpp); direct is what
// NCCL does where every two ranks send each other something of their own.
enum class Algorithm : std::uint8_t { ring, tree, nvls, nvls_tree, pat, torus, direct };
enum class Protocol : std::uint8_t { ll, ll128, simple };
std::string_view name_of(Algorithm algorithm);
std::string_view name_of(Protocol protocol);
std::optional<Algorithm> algorithm_named(std::string_view name);  // in lower case

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

// Links that join two devices only: larger groups use PCIe.
bool has_bridges(const Machine& machine);

// That of a machine of the catalogue. AMD's are planned as rings over their links, bridges as PCIe.
NcclSystem nccl_system(const Machine& machine);

struct NcclChoice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;  // thread blocks, each of which holds a multiprocessor
};

// `bytes` as the operator's cost key counts them. Of the algorithms `allowed`, which there are.
NcclChoice nccl_choice(const NcclSystem& system, Operator op, double bytes, std::int64_t ranks,
                       std::int64_t nodes, std::span<const Algorithm> allowed);

// Rings are run twice, on Blackwell once (at most 16 channels there); switches take 16.
int most_channels(const NcclSystem& system, Algorithm algorithm);

}  // namespace foreshard::simulator
