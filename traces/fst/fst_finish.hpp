// Turns a recording into what is kept: one file with a row for every record. Only for the sources
// of this folder.
#pragma once

#include <string>

#include "models/base/atomic_file.hpp"
#include "models/base/error.hpp"
#include "traces/sqlite/sqlite.hpp"

namespace foreshard::traces {

// The trace at `path`, which may still be open for recording, in a new file with rows instead of
// packed records.
Result<AtomicFile> with_rows(const std::string& path);

// Puts the file in the place of the trace at `path`. What SQLite left beside an earlier trace of that
// name goes first: a write-ahead log would be replayed into the new one.
Result<void> commit_trace(AtomicFile& file, const std::string& path);

// Opens a file of our own for writing, through no link: neither itself nor what SQLite makes beside
// it.
Database open_own(const std::string& path);

}  // namespace foreshard::traces
