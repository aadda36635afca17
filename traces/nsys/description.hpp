// Metadata of an export: the tool, machines, devices, processes and threads, and problems that the
// tool reported. Only for the sources of this folder.
#pragma once

#include <cstdint>
#include <string>

#include "traces/metadata.hpp"
#include "traces/nsys/tables.hpp"

namespace foreshard::traces::nsys {

void name_threads(Import& in);

// After Builder::finish(), whose result is `first_ns`. Besides the keys of every import:
//   rank_is          what a rank is in this recording: a process, or one of a process's devices
//   process.R        name and number of the rank's process
//   diagnostics      warnings and errors of the tool, a line each
//   start_utc_ns     the moment times count from, where the file contains it
Metadata describe(Import& in, const std::string& path, std::int64_t first_ns);

}  // namespace foreshard::traces::nsys
