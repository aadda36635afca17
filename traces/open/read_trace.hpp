// A trace of ours from whichever form it stands in: a .fst file, or the JSON that
// `foreshard export --perfetto` writes. The content decides, not the name.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

// Other recordings are an error that says how to import them.
Result<Trace> read_trace(const std::string& path);

}  // namespace foreshard::traces
