// A trace as Chrome trace JSON, which ui.perfetto.dev and chrome://tracing open: a process per rank,
// a thread per lane, counters of allocated and reserved memory, and an arrow from the moment the
// host issues an instruction to the event that does it.
#pragma once

#include <iosfwd>
#include <string>

#include "models/error.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

// Times are microseconds with three decimals, so no nanosecond is lost.
void write_chrome(const Trace& trace, std::ostream& out);

Result<void> export_chrome(const Trace& trace, const std::string& path);

}  // namespace foreshard::traces
