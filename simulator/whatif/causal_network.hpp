// Why everything in a recording began when it did, as an activity network: what a recording leaves
// open is concluded from its times.
//
// A host's call begins the recorded time after the one before it on its thread, or after the call
// of another thread of the rank that returned later still: threads of a program, such as
// autograd's, hand over to one another. A thread that only watches, and never launches work or
// waits for some, hands over to none. A host may also wait unrecorded between its calls
// (traces/meaning/unrecorded_waits.hpp). A call that waited returns when the work which was over last
// before it returned is over, or where it need not wait, what was launched last of what was over. A
// call that waited for the whole device returns when all work is over.
//
// Work of a device begins once what traces/meaning/work_causes.hpp found to have held it up has got as far as it
// had in the recording, no sooner than its launch allows and the work before it in its stream. Where
// nothing explains when it began, it keeps its distance from what was over last on the device or, where
// that was before its launch, from the launch. A launch returns when the queue of its stream has room
// (full_queues.hpp). A collective of several ranks begins to move data when all have come.
//
// Under the recorded times the network returns the recording, but for what contradicts these rules.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/whatif/activity_network.hpp"
#include "simulator/whatif/recorded_run.hpp"

namespace foreshard::simulator {

// A moment of a host between its calls: `host_ns` of its own time after (or, if negative, before) a
// moment of the network.
struct HostMark {
  Moment from = 0;
  std::int64_t host_ns = 0;
};

struct CausalNetwork {
  ActivityNetwork network;       // its origin is the run's start
  std::vector<Moment> work_end;  // of each of the run's works
  // Of each of the run's steps, its begin and end on the host.
  std::vector<std::pair<HostMark, HostMark>> steps;
};

enum class Stragglers {
  kept,
  none,  // no rank waits in a collective: it lasts as long as on the rank that came last
};

CausalNetwork causal_network(const RecordedRun& run, Stragglers stragglers);

}  // namespace foreshard::simulator
