#include "profiler/analysis/format.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace foreshard::profiler {

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string fixed(double value, int decimals) {
  char digits[400];
  const auto [end, error] =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, decimals);
  return std::string(digits, end);
}

std::string milliseconds(std::int64_t ns) {
  return fixed(static_cast<double>(ns) / 1e6, 3) + " ms";
}

std::string binary_bytes(std::int64_t bytes) {
  const double magnitude = std::abs(static_cast<double>(bytes));
  if (magnitude >= 1024.0 * 1024 * 1024) {
    return fixed(static_cast<double>(bytes) / (1024.0 * 1024 * 1024), 2) + " GiB";
  }
  if (magnitude >= 1024.0 * 1024) {
    return fixed(static_cast<double>(bytes) / (1024.0 * 1024), 2) + " MiB";
  }
  if (magnitude >= 1024.0) return fixed(static_cast<double>(bytes) / 1024.0, 2) + " KiB";
  return std::to_string(bytes) + " B";
}

std::string percent(double part, double whole) {
  return whole == 0 ? "-" : fixed(100 * part / whole, 1) + " %";
}

std::string TextTable::text(int indent) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += i == 0 ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace foreshard::profiler
