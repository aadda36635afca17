// A communicator, and the watchdog's heartbeat, among processes that send each other messages.
//
// Results equal the local communicator's bit for bit: slices are exchanged piece by piece through a
// buffer of constant size and summed in the same order. Waiting leaves the cores to those who
// compute: it sleeps until a message is done, or polls, less and less often, where the transport
// cannot signal it (MPI).
#pragma once

#include <memory>
#include <vector>

#include "executor/communication/communicator.hpp"
#include "executor/communication/last_step.hpp"
#include "executor/communication/oom_agreement.hpp"
#include "executor/communication/transport.hpp"
#include "executor/device/device.hpp"
#include "executor/device/watchdog.hpp"

namespace foreshard::executor {

// `ranks`: the group's members by index, this process' among them. `channel`: the same number on all
// of them, different for groups that share two ranks. The transport outlives it.
std::unique_ptr<Communicator> make_message_communicator(RunControl& run, Device& device,
                                                        Transport& transport,
                                                        std::vector<int> ranks, int channel);

// What the processes of a run agree on while it runs.
struct Agreements {
  OutOfMemoryAgreement memory;
  LastStepAgreement last_step;
};

// Tells all others of this process' progress and of what is to be agreed on, hears of theirs, and
// notices processes of this node that end (peer_processes.hpp). All ranks make theirs together.
std::unique_ptr<Heartbeat> make_heartbeat(RunControl& run, Agreements& agreements,
                                          Transport& transport);

}  // namespace foreshard::executor
