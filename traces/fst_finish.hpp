// Turns a recording into what is kept: one file with a row for every record. Only for the sources
// of this folder.
#pragma once

#include <string>

#include "models/error.hpp"

namespace foreshard::traces {

// A name in the same folder that no reader takes for a trace, for writing before renaming.
std::string temporary_path(const std::string& path);

// Writes the trace at `path`, which may still be open for recording, to `target`, with rows instead
// of packed records. Leaves no target behind when it fails.
Result<void> write_rows(const std::string& path, const std::string& target);

// Puts the file at `from` in the place of `to`. What SQLite left beside an earlier file of that name
// goes first: a write-ahead log would be replayed into the new file.
Result<void> replace_file(const std::string& from, const std::string& to);

}  // namespace foreshard::traces
