// Communicators over NCCL, among ranks that have a GPU each: threads of this process, or processes.
//
// Reductions have an order of NCCL's own, which depends on sizes, GPUs and how they are connected:
// results are close to the other communicators', not equal.
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
// for its group; without one, all members are here. Throws std::runtime_error where NCCL refuses or
// two ranks have one GPU, and Aborted.
std::vector<std::unique_ptr<Communicator>> make_nccl_communicators(RunControl& run,
                                                                   std::span<Device* const> devices,
                                                                   std::span<const int> ranks,
                                                                   Transport* transport);

}  // namespace foreshard::executor::cuda
