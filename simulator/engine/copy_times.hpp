// When the copies of a repetition only repeat each other in time, so that the rest need no walk.
//
// All that a walk computes are sums and maxima of times: of the host, of what streams and communicators
// have come to, of events. Hence, where all of them stand at the start of one copy as they did at the
// start of the copy before, only later by the same amount, the copy takes the same course, later by that
// amount, and so do all that follow.
//
// Mostly they are not later by the same amount: a host that is ahead of its device issues a copy in less
// time than the device takes, and is further ahead with each. That changes nothing as long as no task
// started when the host let it: the host's times then grow by its own amount, those of the streams by
// theirs, and what the streams decided they decide again, because their lead grows.
//
// A time that lies behind the host has no effect on anything that is still to be issued, whatever it is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/engine/contention.hpp"
#include "simulator/engine/engine.hpp"

namespace foreshard::simulator {

struct StreamTimes {
  std::int64_t passed = 0;  // when the stream has passed all so far
  std::int64_t ready = 0;   // when it can start its next task
};

// Where a rank that is simulated alone stands.
struct CopyTimes {
  std::int64_t host = 0;
  std::vector<StreamTimes> streams;
  std::vector<std::int64_t> communicators;  // when each is free
  std::vector<std::int64_t> events;         // that the copy waits for and does not record
  std::vector<UnderWay> transfers;          // that may slow tasks to come

  // Behind the host: what is not later than this has no effect any more.
  std::int64_t irrelevant(const HostCosts& costs) const;
};

// By how much times grow from copy to copy.
struct CopyPeriod {
  std::int64_t host = 0, streams = 0;
};

// Of the copies from `now` on, which are as the one between `before` and `now`; nothing where that does
// not follow. `host_decided`: in that copy a task started when the host let it, or the host waited.
std::optional<CopyPeriod> copy_period(const CopyTimes& before, const CopyTimes& now,
                                      bool host_decided, const HostCosts& costs);

}  // namespace foreshard::simulator
