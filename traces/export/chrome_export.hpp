// A trace as Chrome trace JSON, which ui.perfetto.dev and chrome://tracing open: a process per rank,
// a thread per lane (and one more for what overlaps in it, which viewers would drop), counters of
// allocated and reserved memory and those that were sampled, and an arrow from each call of the host to what it made the device
// do. chrome_import.hpp reads the same file back with nothing lost:
//
//   line 1        {"foreshard":{"format":1, complete, complete_until_ns, metadata, dropped},
//   then          arrays with an element a line: foreshardLanes [rank, device, name], foreshardSteps
//                 [rank, step, start, end, loss, gradient norm, label], foreshardCounters [rank, name,
//                 unit], foreshardStrings, foreshardMemory [time, rank, action, on host, step, address, bytes, requested, lane, category,
//                 owner, phase, instruction, stack] (texts by their place in foreshardStrings)
//   traceEvents   X: events; thread id - 1 is the lane, unless args.lane is present
//                 C with `counter`: samples of that element of foreshardCounters
//
// Text that is not UTF-8, which JSON cannot hold, is {"bytes":"hexadecimal digits"}.
#pragma once

#include <iosfwd>
#include <string>

#include "models/base/error.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

constexpr int kChromeFormatVersion = 1;

// Times are microseconds with three decimals, so no nanosecond is lost.
void write_chrome(const Trace& trace, std::ostream& out);

Result<void> export_chrome(const Trace& trace, const std::string& path);

}  // namespace foreshard::traces
