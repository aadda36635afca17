// What NCCL's search would find on a machine of the catalogue: rings, and switches that reduce.
#include <algorithm>
#include <charconv>

#include "simulator/network/nccl_planner.hpp"

namespace foreshard::simulator {
namespace {

// Bus bandwidth of rings over that of the links, from published measurements of large messages: 235
// of 300 GB/s on A100, 362 of 450 on H200, 682 of 900 on B200; 313 of 448 on MI300X; and over PCIe.
constexpr double kMeshChannels = 28;  // RCCL: 56, run twice, on 8 MI300X
constexpr double kRingOfLink = 0.8, kRingOfMesh = 0.7, kRingOfPcie = 0.7;

// NVIDIA writes "9.0", AMD "gfx942", a user's table perhaps nothing. RCCL plans by NCCL's formula
// with constants of its own that are not published; Ampere's, the oldest with switches, stand in.
GpuGeneration generation_of(const std::string& compute_capability) {
  int major = 0;
  const char* const begin = compute_capability.data();
  const auto read = std::from_chars(begin, begin + compute_capability.size(), major);
  if (read.ec != std::errc()) return GpuGeneration::ampere;
  return major >= 10  ? GpuGeneration::blackwell
         : major >= 9 ? GpuGeneration::hopper
         : major >= 8 ? GpuGeneration::ampere
                      : GpuGeneration::volta;
}

}  // namespace

bool has_bridges(const Machine& machine) {
  return machine.link.find("bridge") != std::string::npos;
}

NcclSystem nccl_system(const Machine& machine) {
  NcclSystem system;
  system.generation = generation_of(machine.compute_capability);
  const double link = has_bridges(machine) ? 0 : machine.link_bandwidth / 1e9;
  const bool is_nvidia = machine.vendor != "AMD" && !machine.compute_capability.starts_with("gfx");
  const bool is_blackwell = system.generation == GpuGeneration::blackwell;
  system.has_nvlink = link > 0;
  system.has_nvls = is_nvidia && link > 0 && system.generation >= GpuGeneration::hopper;
  system.is_mesh = machine.link.find("mesh") != std::string::npos;
  const double ring = link <= 0   ? kRingOfPcie * machine.host_bandwidth / 1e9
                      : is_nvidia ? kRingOfLink * link
                                  : kRingOfMesh * link;
  system.channels = link <= 0 ? 2 : is_blackwell ? 16 : is_nvidia ? 12 : kMeshChannels;
  system.channel_gb_s = ring / system.channels;
  system.nvls_channels = 8;
  system.nvls_channel_gb_s = is_blackwell ? 80 : 40;
  system.gpus_per_node = static_cast<int>(machine.gpus_per_node);
  system.node_nic_gb_s =
      machine.network_bandwidth / 1e9 * static_cast<double>(machine.gpus_per_node);
  return system;
}

}  // namespace foreshard::simulator
