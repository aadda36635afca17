// Comma-separated values as RFC 4180 has them: fields may be quoted, quotes are doubled inside, and a
// quoted field may hold commas and line breaks. The first record names the columns.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard {

struct CsvRow {
  int line = 0;  // where it starts, counted from 1
  std::vector<std::string> fields;
};

struct CsvTable {
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;  // each with as many fields as there are columns

  std::optional<std::size_t> column(std::string_view name) const;

  // The field of a row in the column of this name; empty where there is no such column.
  std::string_view at(const CsvRow& row, std::string_view name) const;
};

Result<CsvTable> parse_csv(std::string_view text, const std::string& file);

}  // namespace foreshard
