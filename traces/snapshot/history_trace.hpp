// An allocation history as a trace: one rank's memory, with what its labels tell of each event.
// Without times, events follow one another by a microsecond. Block sizes are not recorded; they follow
// from the requests and the segments (recorded_blocks.hpp).
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "traces/allocator/labelled_history.hpp"
#include "traces/import_options.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

Trace trace_of(const LabelledHistory& history, const std::string& path);

Result<Trace> import_event_list(const std::string& path, const ImportOptions& options = {});

}  // namespace foreshard::traces
