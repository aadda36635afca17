// A communicator, and the watchdog's heartbeat, among processes that send each other messages.
//
// Results equal the local communicator's bit for bit: slices are exchanged piece by piece through a
// buffer of constant size and summed in the same order. Each member sends to each other, or, where
// long slices would cross the network between two nodes several times, all pass them around a ring.
// Waiting leaves the cores to those who compute: it sleeps until a message is done, or polls, less
// and less often, where the transport cannot signal it (MPI).
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

// Where the members of a group are, for all of them the same.
struct GroupNodes {
  std::vector<int> of_members;  // by index; empty: all on one node
  // What a node's network moves while a message wakes its receiver: 50 microseconds at 10 GB/s. Where
  // the network is slower, sending directly costs less than is assumed.
  std::int64_t bytes_of_hop = 512 << 10;
};

// `ranks`: the group's members by index, this process' among them. `channel`: the same number on all
// of them, different for groups that share two ranks. The transport outlives it.
std::unique_ptr<Communicator> make_message_communicator(RunControl& run, Device& device,
                                                        Transport& transport,
                                                        std::vector<int> ranks, int channel,
                                                        const GroupNodes& nodes = {});

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
