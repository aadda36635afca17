// Reads a trace from any supported recording: a .fst file, the JSON that `foreshard export
// --perfetto` writes, a recording of PyTorch's profiler (a file or a folder with one of each rank), an
// Nsight Systems export or a CUDA memory snapshot. The content decides, not the name. Recordings of
// others are imported into memory, see import.hpp.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "traces/import.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

// An error where a folder holds several runs, and where the file is of another type, which it names.
Result<Trace> read_trace(const std::string& path, const ImportOptions& options = {});

}  // namespace foreshard::traces
