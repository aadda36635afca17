#include "models/base/moment.hpp"

#include <charconv>
#include <cmath>
#include <map>

namespace foreshard {

std::optional<std::int64_t> parse_moment(const std::string& text) {
  static const std::map<std::string, double> kUnits = {
      {"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  const auto unit = kUnits.find(std::string(read.ptr, end));
  if (read.ec != std::errc() || unit == kUnits.end() || !std::isfinite(number)) return {};
  const double ns = number * unit->second;
  if (std::abs(ns) > 1e17) return {};
  return std::llround(ns);
}

}  // namespace foreshard
