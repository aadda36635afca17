// Opens what a user names as a trace, and shows how far that is.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "traces/trace.hpp"

namespace foreshard::cli {

// Any recording that traces/open knows. Quiet: without progress.
Result<traces::Trace> open_trace(const std::string& path, bool is_quiet);

}  // namespace foreshard::cli
