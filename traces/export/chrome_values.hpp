// Values of our Chrome JSON, read by simdjson and checked. Only for the sources of this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <simdjson.h>

#include "traces/input/limits.hpp"

namespace foreshard::traces::chrome {

namespace json = simdjson::ondemand;

// Thrown, and caught by the reader, where a line is not what the exporter writes.
struct Impossible {};

template <typename T>
T checked(simdjson::simdjson_result<T> value) {
  T result{};
  if (std::move(value).get(result) != simdjson::SUCCESS) throw Impossible();
  return result;
}

inline std::int64_t integer(json::value value) {
  return checked(value.get_int64());
}

template <typename Integer>
Integer integer_in(json::value value, std::int64_t least, std::int64_t most) {
  const std::int64_t n = integer(value);
  if (n < least || n > most) throw Impossible();
  return static_cast<Integer>(n);
}
template <typename Integer>
Integer integer_of(json::value value) {
  return integer_in<Integer>(value, std::numeric_limits<Integer>::min(),
                             std::numeric_limits<Integer>::max());
}

inline std::int64_t time(std::int64_t ns) {
  if (ns < -kLatestNs || ns > kLatestNs) throw Impossible();
  return ns;
}

// Nanoseconds of "-12.345", exactly: microseconds with three decimals.
inline std::int64_t nanoseconds(json::value value) {
  std::string_view text = value.raw_json_token();
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  std::int64_t ns = 0;
  int decimals = -1;
  for (const char c : text) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
    } else if (c >= '0' && c <= '9' && decimals < 3 && ns <= kLatestNs) {
      ns = ns * 10 + (c - '0');
      if (decimals >= 0) ++decimals;
    } else if (c == ' ') {
      break;
    } else {
      throw Impossible();
    }
  }
  for (decimals = std::max(decimals, 0); decimals < 3; ++decimals) ns *= 10;
  return is_negative ? -ns : ns;
}

inline double real(json::value value) {
  if (checked(value.type()) != json::json_type::string) return checked(value.get_double());
  const std::string_view word = checked(value.get_string());
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  return word == "-inf" ? -std::numeric_limits<double>::infinity()
                        : std::numeric_limits<double>::infinity();
}

inline int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  throw Impossible();
}

// A string, or {"bytes":"hexadecimal digits"}.
inline std::string text(json::value value) {
  if (checked(value.type()) == json::json_type::string) {
    return std::string(checked(value.get_string()));
  }
  json::object object = checked(value.get_object());
  const std::string_view digits = checked(object.find_field("bytes").get_string());
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(digit(digits[i]) * 16 + digit(digits[i + 1]));
  }
  return bytes;
}

template <typename Enum>
Enum named(json::value value) {
  const std::string_view word = checked(value.get_string());
  for (int i = 0; i < static_cast<int>(Enum::kCount); ++i) {
    if (name(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
  }
  throw Impossible();
}

// The values of an array of known length, one after another.
class Values {
 public:
  explicit Values(json::array array) : at_(array.begin()), end_(array.end()) {
    if (at_.error() != simdjson::SUCCESS) throw Impossible();
  }
  json::value next() {
    if (!has_next()) throw Impossible();
    is_used_ = true;
    return checked(*at_);
  }
  bool has_next() {
    if (std::exchange(is_used_, false)) ++at_;
    return at_ != end_;
  }

 private:
  simdjson::simdjson_result<json::array_iterator> at_, end_;
  bool is_used_ = false;  // the value at_
};

}  // namespace foreshard::traces::chrome
