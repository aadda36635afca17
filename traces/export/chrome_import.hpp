// Reads back what chrome_export.hpp writes, with nothing lost. Other JSON (PyTorch's profiler) is for
// import_kineto.
//
// The file is read line by line, an element each, as it was written: memory is that of the trace. A
// file cut short, or with lines that are damaged, becomes an incomplete trace.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "traces/import_options.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

// By the file's first bytes, inflated where they are gzip's. False where it cannot be read.
bool is_foreshard_export(const std::string& path);

Result<Trace> read_chrome(const std::string& path, const ImportOptions& options = {});
// Errors call it `name`.
Result<Trace> read_chrome(ByteSource& in, const std::string& name);

}  // namespace foreshard::traces
