// Communicators among ranks that are threads of one process. Nothing is sent: a rank publishes the
// address of its buffer, waits until all have, copies or reduces straight from the others' buffers,
// and leaves when nobody reads its own any more. No memory beyond the callers' buffers is used.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "executor/communication/communicator.hpp"
#include "executor/device/device.hpp"

namespace foreshard::executor {

// One communicator for each member of a group, by index: the rank of each device. They share what they
// meet in, so they may be destroyed in any order, but only after the streams of all members.
std::vector<std::unique_ptr<Communicator>> make_local_communicators(
    RunControl& run, std::span<Device* const> devices);

}  // namespace foreshard::executor
