// Numbers in a catalogue's fields, read the same way in every locale.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace foreshard {

// The finite number a field holds, and nothing else; nothing when it is empty or anything more.
inline std::optional<double> csv_number(std::string_view field) {
  double number = 0;
  const char* const end = field.data() + field.size();
  const std::from_chars_result read = std::from_chars(field.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace foreshard
