// Device memory that the caching allocator does not hold: the context with its kernels, libraries, and
// the buffers of NCCL's communicators. nvidia-smi shows it on top of what is reserved; without it,
// plans would be reported to fit that end a gigabyte short.
//
// Measured on an H100 and an H200 (CUDA 13.0, NCCL 2.28; traces/samples/pytorch_gpu): the context takes
// 619 MiB; cuBLAS 66 MiB, flash attention 2 and cuDNN's attention 16; a process' first communicator
// 562 MiB and a second one 390, both of a single rank, which has nothing to connect to. The difference is
// taken for NCCL's kernels. What connections take is NCCL's published sizes.
#pragma once

#include <cstdint>

#include "models/program/step_program.hpp"
#include "simulator/network/nccl_planner.hpp"

namespace foreshard::simulator {

struct OutsideMemory {
  std::int64_t context = 0, libraries = 0, nccl = 0;
  // Other drivers' contexts differ by a quarter; older versions of NCCL take little but the rings'
  // connections, and runs have a communicator that no step uses.
  std::int64_t low = 0, high = 0;

  std::int64_t bytes() const { return context + libraries + nccl; }
};

struct ProgramCosts;  // cost_model.hpp

// Buffers of one communicator. NCCL keeps, for each channel and pattern of connections, a receiving
// side of 10 MiB (one buffer for each of its three protocols) and a sending side of 2 MiB: rings for
// all collectives, trees where there are all-reduces. Switches that reduce take a buffer of 1 MiB for
// each of 16 channels, 8 devices and both directions, on one node.
struct Connections {
  std::int64_t rings = 0, trees = 0, switches = 0;
};
Connections connections(const NcclSystem& system, std::int64_t ranks, std::int64_t nodes,
                        bool reduces_all);

// Of a rank that runs this program, of which it is counted how often it pays each cost. Groups of the
// same ranks have one communicator, as the process groups of a device mesh.
OutsideMemory outside_memory(const NcclSystem& system, const RankProgram& program,
                             const ProgramCosts& counted, int ranks_per_node);

}  // namespace foreshard::simulator
