// The tables and views of a `.fst` file as SQL; fst_file.hpp describes their contents.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/sqlite/sqlite.hpp"

namespace foreshard::traces {

// Tables that a file must have to be a trace, and their columns in order.
const std::map<std::string, std::vector<std::string>>& required_columns();
// Columns behind those, which files of earlier writers lack.
const std::vector<std::string>& added_columns(const std::string& table);
// Tables that files of earlier writers lack, and their columns in order.
const std::map<std::string, std::vector<std::string>>& added_tables();

// Metadata are rows of at most so many bytes: what is longer, such as the programs of a step of many
// thousand kernels, goes on in rows named KEY#0002, KEY#0003 and so on.
constexpr std::size_t kLongestPiece = 8 << 20;
std::string piece_name(const std::string& key, std::size_t number);
// The key of a row that goes on with the value of another one; "": it begins one.
std::string continued_key(std::string_view name);

// Creates all tables and views in an empty database.
bool create_schema(Database& database);

// The statements both writers of rows use, in the order of the tables' columns.
constexpr const char* kInsertEvent = "INSERT INTO EVENT_RECORDS VALUES (?,?,?,?,?,?,?)";
constexpr const char* kInsertMemory = "INSERT INTO MEMORY_RECORDS VALUES (?,?,?,?,?,?,?)";

}  // namespace foreshard::traces
