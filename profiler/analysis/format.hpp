// Figures and tables for people, the same in every locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foreshard::profiler {

std::string milliseconds(std::int64_t ns);       // "12.346 ms"
std::string binary_bytes(std::int64_t bytes);    // "1.53 GiB", "24.00 MiB", "512 B"
std::string percent(double part, double whole);  // "12.3 %"; "-" where the whole is nothing
std::string fixed(double value, int decimals);   // "1.250"

// In characters rather than bytes: names may be UTF-8.
std::size_t width(std::string_view text);

// Columns as wide as their widest cell; the first is aligned left, the others right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heading) : rows_{std::move(heading)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::size_t rows() const { return rows_.size() - 1; }  // without the heading
  std::string text(int indent = 2) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace foreshard::profiler
