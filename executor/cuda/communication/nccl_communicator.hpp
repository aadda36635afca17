// Communicators over NCCL, among ranks that have a GPU each: processes, or threads of this one.
//
// This folder has the two ways in which ranks on GPUs communicate, each a Communicator:
//   local_communicator   ranks are threads of one process: their hosts meet in every collective, and their
//                        streams copy and reduce straight from each other's memory, in our order of sums
//   nccl_communicator    this one: hosts issue NCCL's collectives and go on; NCCL's kernels meet on the
//                        devices. nccl_group has the communicators of NCCL's, from connecting to abort
// Either tells the device where a collective begins and ends (CudaDevice::begin_collective), and answers
// the watchdog from what the device has come to (device/stream_log.hpp).
//
// Reductions have an order of NCCL's own, which depends on sizes, GPUs and how they are connected:
// results are close to the other communicators', not equal.
//
// Processes are the better choice. Where a process has several GPUs, a call that waits for work of other
// devices, as cudaMalloc may with peer access, can wait for a kernel of NCCL's that waits for one which
// this very thread has yet to launch; so can cudaGraphLaunch (NCCL's user guide, "Using NCCL with CUDA
// Graphs"). All memory would have to be there before the first collective, but the caching allocator
// takes its segments when they are needed, which is what predictions of memory are about. The watchdog
// ends such a run.
//
// Collectives are the same in a graph and out of it: NCCL registers no buffers while it captures
// (NCCL_GRAPH_REGISTER is 0 unless the environment says otherwise), which would change its choice of
// algorithms (enqueue.cc) and demand that all ranks capture a collective or none, when each decides for
// itself. Capturing in thread-local mode lets NCCL's own threads call what a capture may not.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "executor/communication/communicator.hpp"
#include "executor/communication/transport.hpp"
#include "executor/device/device.hpp"
#include "models/base/error.hpp"

namespace foreshard::executor::cuda {

// "2.28.9"; the error says what is missing.
Result<std::string> nccl_version();

// Makes the communicators of those members of a group that are in this process, in the order of
// `devices`. `ranks`: the group's, by index. All processes of `transport` call it together, each
// for its group; without one, all members are here. Graphs that have been captured go before them.
// Throws std::runtime_error where NCCL refuses or two ranks have one GPU, and Aborted. Processes that
// have different names of their host in NCCL_HOSTID may share one: NCCL then goes over sockets.
std::vector<std::unique_ptr<Communicator>> make_nccl_communicators(RunControl& run,
                                                                   std::span<Device* const> devices,
                                                                   std::span<const int> ranks,
                                                                   Transport* transport);

}  // namespace foreshard::executor::cuda
