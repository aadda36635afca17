// Opens what a user names as a trace, and shows how far that is.
#pragma once

#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "traces/open/read_trace.hpp"
#include "traces/trace.hpp"

namespace foreshard::cli {

// Quiet: without progress.
Result<traces::Trace> open_trace(const std::string& path, bool is_quiet,
                                 const traces::AcceptedKinds& accepted = traces::every_trace());

// Every run that is there.
Result<std::vector<traces::RecordedRun>> open_runs(const std::string& path, bool is_quiet);

// Puts the pipe that was given in the place of the temporary file in the trace's own list of its files.
void name_files(traces::Trace& trace);

}  // namespace foreshard::cli
