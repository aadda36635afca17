// A trace as a folder of tables for spreadsheets and pandas: events.csv, memory.csv,
// memory_timeline.csv, steps.csv, and metadata.csv, which also lists what the trace lacks.
// Comma-separated UTF-8, quoted as in RFC 4180, a header line each, times in nanoseconds; a number
// that is not known is an empty field. Names stand as they are recorded: a spreadsheet takes those that
// begin with = + - or @ for formulas, so import the columns of an untrusted trace as text.
#pragma once

#include <iosfwd>
#include <string>

#include "models/base/error.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

void write_events_csv(const Trace& trace, std::ostream& out);
void write_memory_csv(const Trace& trace, std::ostream& out);
// A row for each change of what a rank has allocated, reserved or on the host, with all three.
void write_memory_timeline_csv(const Trace& trace, std::ostream& out);
void write_steps_csv(const Trace& trace, std::ostream& out);
void write_counters_csv(const Trace& trace, std::ostream& out);
// Rows "dropped: REASON" count the records that were lost or left out.
void write_metadata_csv(const Trace& trace, std::ostream& out);

// Makes the folder where it is missing.
Result<void> export_csv(const Trace& trace, const std::string& folder);

}  // namespace foreshard::traces
