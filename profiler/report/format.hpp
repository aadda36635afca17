// Formatting of report text and tables, independent of the locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/figures.hpp"

namespace foreshard::profiler {

// Of lines: that of the terminal on standard output, or COLUMNS where it is set; without either 100.
std::size_t report_width();

std::string join(const std::vector<std::string>& parts, const std::string& between);

// In characters rather than bytes: names may be UTF-8.
std::size_t width(std::string_view text);

// At most `most` characters, of which "…" stands for those left out.
std::string truncate(const std::string& text, std::size_t most, std::size_t kept_at_end = 0);

// Lines of at most report_width() characters, those after the first indented.
std::string wrap(const std::string& text, std::size_t indent = 0);

// The highest of the values that fall into each of `columns` as a bar of eight heights, of which the
// full one is `most`; nothing is blank.
std::string sparkline(const std::vector<std::int64_t>& values, std::int64_t most,
                      std::size_t columns);

// Columns as wide as their widest cell, aligned right but for those named `left`. Columns of which
// every cell is nothing (empty, "-", a zero of any unit) are left out, and so is a row of empty
// cells, such as a heading without words.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heading, std::vector<std::size_t> left = {0})
      : rows_{std::move(heading)}, left_(std::move(left)) {}
  // Cells that `row` lacks are empty.
  void add(std::vector<std::string> row) {
    row.resize(rows_[0].size());
    rows_.push_back(std::move(row));
  }
  std::size_t rows() const { return rows_.size() - 1; }  // without the heading
  std::string text() const;                              // nothing where there are none

 private:
  bool is_nothing(std::size_t column) const;

  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> left_;
};

}  // namespace foreshard::profiler
