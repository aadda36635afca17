// Device memory that is in use before PyTorch's allocator, or ours, starts: the context with its
// kernels, and the buffers of NCCL's communicators. Without it, plans would be reported to fit that end a
// few hundred megabytes short.
#pragma once

#include <cstdint>

#include "models/program/step_program.hpp"
#include "simulator/network/nccl_planner.hpp"

namespace foreshard::simulator {

// Half a GiB: what a process' context takes on Hopper; the same is assumed elsewhere.
constexpr std::int64_t kContextBytes = std::int64_t{512} << 20;

// Buffers of one communicator. NCCL keeps, for each channel and pattern of connections, a receiving
// side of 10 MiB (one buffer for each of its three protocols) and a sending side of 2 MiB: rings for
// all collectives, trees where there are all-reduces. Switches that reduce take a buffer of 1 MiB for
// each of 16 channels, 8 devices and both directions, on one node.
std::int64_t communicator_bytes(const NcclSystem& system, std::int64_t ranks, std::int64_t nodes,
                                bool reduces_all);

// The context and the communicators that a rank's program uses. Groups of the same ranks have one
// communicator, as the process groups of a device mesh.
std::int64_t bytes_outside_allocator(const NcclSystem& system, const RankProgram& program,
                                     int ranks_per_node);

}  // namespace foreshard::simulator
