// Writes numbers and text to a stream the same way in every locale. Only for the sources of this
// folder.
#pragma once

#include <charconv>
#include <cstdint>
#include <ostream>
#include <string_view>

namespace foreshard::traces {

class TextOutput {
 public:
  explicit TextOutput(std::ostream& out) : out_(out) {}

  TextOutput& operator<<(std::string_view text) {
    out_.write(text.data(), static_cast<std::streamsize>(text.size()));
    return *this;
  }
  TextOutput& operator<<(const char* text) { return *this << std::string_view(text); }
  TextOutput& operator<<(std::int64_t n) { return number(n); }
  TextOutput& operator<<(std::int32_t n) { return number(n); }
  TextOutput& operator<<(double n) { return number(n); }
  TextOutput& operator<<(float n) { return number(n); }

  // Nanoseconds as microseconds with three decimals.
  TextOutput& microseconds(std::int64_t ns) {
    if (ns < 0) *this << "-";
    const auto magnitude = static_cast<std::uint64_t>(ns < 0 ? -ns : ns);
    number(magnitude / 1000);
    char decimals[4] = {'.'};
    for (std::size_t i = 3, rest = magnitude % 1000; i > 0; --i, rest /= 10) {
      decimals[i] = static_cast<char>('0' + rest % 10);
    }
    return *this << std::string_view(decimals, 4);
  }

  // As a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD, for no JSON reader
  // accepts them.
  TextOutput& json(std::string_view text);

  // The same without loss: what is not UTF-8 becomes {"bytes":"hexadecimal digits"}.
  TextOutput& exact_json(std::string_view text);

  // As a CSV field, quoted where it must be. Bytes that are not UTF-8, and zeros, become U+FFFD: pandas
  // reads no others.
  TextOutput& csv(std::string_view text);

 private:
  template <typename Number>
  TextOutput& number(Number n) {
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, n);
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }

  std::ostream& out_;
};

}  // namespace foreshard::traces
