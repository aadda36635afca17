// Opens an SQLite file that may be damaged, hostile, still being written, or in a folder where
// nothing can be written. Only for the sources of this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/error.hpp"
#include "traces/sqlite.hpp"

namespace foreshard::traces {

struct OpenedTrace {
  // Removes a folder when it goes: the copy of a file that could not be read where it is.
  struct RemoveFolder {
    void operator()(const std::string* folder) const;
  };
  std::unique_ptr<const std::string, RemoveFolder> copy;
  Database database;       // closed before the copy goes
  std::int64_t bytes = 0;  // of the file and its write-ahead log
};

// A path as SQLite's URI of a file, with a query such as "?immutable=1".
std::string uri(const std::string& path, const char* query);

// Nothing that stands in the file's schema is run: no triggers, no functions with effects.
void make_safe(Database& database);

// Whether the file begins as an SQLite database does. An error where there is no such file or it
// cannot be read; `expected` ends its message.
Result<bool> begins_as_sqlite(const std::string& path, const std::string& expected);

// An error where the file does not exist or is no SQLite database.
Result<OpenedTrace> open_trace(const std::string& path);

}  // namespace foreshard::traces
