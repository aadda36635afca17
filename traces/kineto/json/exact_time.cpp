#include "traces/kineto/json/exact_time.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace foreshard::traces::kineto {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kMaxMicroseconds = 4'000'000'000'000'000;  // twice that still fits, as ns

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The same number without its exponent, or empty where it is not a number of reasonable size.
std::string without_exponent(std::string_view text, std::size_t exponent_at) {
  constexpr int kMaxShift = 40;
  std::string_view shift_text = text.substr(exponent_at + 1);
  if (shift_text.starts_with('+')) shift_text.remove_prefix(1);
  int shift = 0;
  const auto parsed =
      std::from_chars(shift_text.data(), shift_text.data() + shift_text.size(), shift);
  if (parsed.ec != std::errc() || parsed.ptr != shift_text.data() + shift_text.size() ||
      shift > kMaxShift || shift < -kMaxShift) {
    return {};
  }
  std::string out;
  std::string_view mantissa = text.substr(0, exponent_at);
  if (mantissa.starts_with('-')) {
    out = "-";
    mantissa.remove_prefix(1);
  }
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string digits(mantissa.substr(0, point));
  if (point < mantissa.size()) digits += mantissa.substr(point + 1);
  std::ptrdiff_t position = static_cast<std::ptrdiff_t>(point) + shift;
  if (position <= 0) {
    digits.insert(0, static_cast<std::size_t>(1 - position), '0');
    position = 1;
  } else if (position > static_cast<std::ptrdiff_t>(digits.size())) {
    digits.append(static_cast<std::size_t>(position) - digits.size(), '0');
  }
  digits.insert(static_cast<std::size_t>(position), 1, '.');
  return out + digits;
}

}  // namespace

std::int64_t ExactTime::rounded() const {
  const std::int64_t carry = millionths / kMillion, rest = millionths % kMillion;
  return whole + carry + (rest >= kMillion / 2 ? 1 : rest <= -kMillion / 2 ? -1 : 0);
}

bool parse_time(std::string_view text, ExactTime& out) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool is_negative = at != end && *at == '-';
  if (is_negative) ++at;
  const char* const first = at;
  std::int64_t microseconds = 0;
  for (; at != end && is_digit(*at); ++at) {
    if (microseconds > kMaxMicroseconds) return false;
    microseconds = microseconds * 10 + (*at - '0');
  }
  bool has_digits = at != first;
  std::int64_t fraction = 0, place = 1'000 * kMillion;  // of millionths of a nanosecond
  if (at != end && *at == '.') {
    for (++at; at != end && is_digit(*at); ++at) {
      has_digits = true;
      place /= 10;
      fraction += place * (*at - '0');
    }
  }
  if (!has_digits) return false;
  if (at != end && (*at == 'e' || *at == 'E')) {
    const std::string plain = without_exponent(text, static_cast<std::size_t>(at - text.data()));
    return !plain.empty() && parse_time(plain, out);
  }
  if (at != end || microseconds > kMaxMicroseconds) return false;
  out = {microseconds * 1'000 + fraction / kMillion, fraction % kMillion};
  if (is_negative) out = {-out.whole, -out.millionths};
  return true;
}

}  // namespace foreshard::traces::kineto
