// Communicators among ranks that are threads of one process, on one GPU or on several that read
// each other's memory.
//
// A rank's host thread issues its part of a collective itself, after it has met the others': when
// all have come they know each other's buffers and the events that say when those are ready. Then
// the stream waits for these events, copies or reduces straight from the others' buffers, and waits
// until all have done so. The host waits for other hosts at a collective, never for a device.
//
// This is why nothing can deadlock: a stream waits only for events that have been recorded, so all
// that has been issued is done without any further call, in whatever order a GPU takes in the
// streams that share it, and calls that wait for the whole device (cudaFree, the loading of a
// kernel) return. Waiting on the device for what is yet to be issued (stream memory operations,
// host functions that block) promises neither.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "executor/communication/communicator.hpp"
#include "executor/device/device.hpp"

namespace foreshard::executor::cuda {

// One communicator for each member of a group, by index: the rank of each device, a CudaDevice.
// They may be destroyed in any order, but only after the streams of all members. Throws
// std::runtime_error where GPUs cannot read each other's memory.
std::vector<std::unique_ptr<Communicator>> make_local_communicators(
    RunControl& run, std::span<Device* const> devices);

}  // namespace foreshard::executor::cuda
