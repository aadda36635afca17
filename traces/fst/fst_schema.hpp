// The tables and views of a `.fst` file as SQL; fst_file.hpp describes their contents.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "traces/sqlite/sqlite.hpp"

namespace foreshard::traces {

// Tables that a file must have to be a trace, and their columns in order.
const std::map<std::string, std::vector<std::string>>& required_columns();
// Columns behind those, which files of earlier writers lack.
const std::vector<std::string>& added_columns(const std::string& table);

// Creates all tables and views in an empty database.
bool create_schema(Database& database);

// The statements both writers of rows use, in the order of the tables' columns.
constexpr const char* kInsertEvent = "INSERT INTO EVENT_RECORDS VALUES (?,?,?,?,?,?,?)";
constexpr const char* kInsertMemory = "INSERT INTO MEMORY_RECORDS VALUES (?,?,?,?,?,?,?)";

}  // namespace foreshard::traces
