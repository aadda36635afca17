// One .fst file, which may be that of one process of a run. Private to this folder.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "traces/import_options.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

Result<Trace> read_fst_file(const std::string& path, const ImportOptions& options = {});

}  // namespace foreshard::traces
