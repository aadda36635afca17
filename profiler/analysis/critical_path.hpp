// The critical path of a stretch of time: the chain of work, each piece begun because the one before
// it was over, that ends with the last event and reaches back to the beginning. What is not on it
// could have been faster without the stretch ending any sooner.
//
// A trace records what ran when, not why, so the chain is followed backwards from the end by rules.
// What an event waited for is whichever of these was over last:
//
//   the event before it on any host thread of its rank
//   for what an operator called: what that operator called before; an operator itself is on the path
//   only while nothing it called was at work
//   for a collective, on all ranks together: what the rank that came last did before it
//
// For work of a device that is what traces/meaning/work_causes.hpp concludes: its launch, the work before it in
// its stream, or work of another stream.
//
// The time between two events of the chain belongs to the later one, as waiting; but between two of
// a host it is the host's own, in code that the recording does not show, such as Python's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/launches.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

struct PathPart {
  std::string name;        // of the operator, collective or call; "(between operators)"
  std::string kind;        // name(EventKind), or "waiting"
  std::int64_t count = 0;  // of events, or of times between two
  std::int64_t ns = 0;
};

struct CriticalPath {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<std::int32_t> events;  // indices into Trace::events, in order of time
  std::vector<PathPart> parts;       // longest first; they add up to end - start
};

// From `start_ns` to the end of the last event that ends by `end_ns`; empty where there is none.
CriticalPath critical_path(const traces::Trace& trace, const Launches& launches,
                           std::int64_t start_ns, std::int64_t end_ns);

}  // namespace foreshard::profiler
