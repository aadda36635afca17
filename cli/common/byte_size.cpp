#include "cli/common/byte_size.hpp"

#include <charconv>

namespace foreshard::cli {
namespace {

struct Unit {
  const char* suffix;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},
                           {"B", 1},
                           {"KiB", 1024},
                           {"MiB", 1048576},
                           {"GiB", 1073741824},
                           {"TiB", 1099511627776.0},
                           {"KB", 1e3},
                           {"MB", 1e6},
                           {"GB", 1e9},
                           {"TB", 1e12}};

}  // namespace

std::optional<std::int64_t> byte_size(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc()) return std::nullopt;
  const char* suffix = read.ptr;
  while (suffix != end && *suffix == ' ') ++suffix;
  for (const Unit& unit : kUnits) {
    const double bytes = number * unit.bytes;
    if (std::string(suffix, end) == unit.suffix && bytes >= 1 && bytes < 9e18) {
      return static_cast<std::int64_t>(bytes);
    }
  }
  return std::nullopt;
}

}  // namespace foreshard::cli
