#include "models/base/figures.hpp"

#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>
#include <utility>

#include <locale.h>

namespace foreshard {

std::string formatted(const char* format, ...) {
  static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  const locale_t users = ::uselocale(plain);
  std::va_list arguments;
  va_start(arguments, format);
  char* text = nullptr;
  const int size = ::vasprintf(&text, format, arguments);
  va_end(arguments);
  ::uselocale(users);
  if (size < 0) throw std::bad_alloc();
  const std::string out(text, static_cast<std::size_t>(size));
  std::free(text);
  return out;
}

std::string to_fixed(double value, int decimals) {
  char digits[400];
  const auto [end, error] =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, decimals);
  return std::string(digits, end);
}

std::string in_milliseconds(std::int64_t ns, int decimals) {
  return to_fixed(static_cast<double>(ns) / 1e6, decimals);
}

std::string milliseconds(std::int64_t ns) {
  return in_milliseconds(ns) + " ms";
}

std::string duration(std::int64_t ns) {
  if (ns == 0) return "0 ms";
  if (std::abs(ns) < 1000) return std::to_string(ns) + " ns";
  constexpr std::pair<double, const char*> kUnits[] = {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}};
  const double n = std::abs(static_cast<double>(ns));
  std::size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && n < 0.99995 * kUnits[unit].first) ++unit;
  const double size = n / kUnits[unit].first;
  const int decimals = size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
  return (ns < 0 ? "-" : "") + to_fixed(size, decimals) + kUnits[unit].second;
}

std::string binary_bytes(std::int64_t bytes) {
  const double magnitude = std::abs(static_cast<double>(bytes));
  if (magnitude >= 1024.0 * 1024 * 1024) {
    return to_fixed(static_cast<double>(bytes) / (1024.0 * 1024 * 1024), 2) + " GiB";
  }
  if (magnitude >= 1024.0 * 1024) {
    return to_fixed(static_cast<double>(bytes) / (1024.0 * 1024), 2) + " MiB";
  }
  if (magnitude >= 1024.0) return to_fixed(static_cast<double>(bytes) / 1024.0, 2) + " KiB";
  return std::to_string(bytes) + " B";
}

std::string percent(double part, double whole) {
  return whole == 0 ? "-" : to_fixed(100 * part / whole, 1) + " %";
}

std::string signed_percent(double part, double whole) {
  return (part > 0 && whole != 0 ? "+" : "") + percent(part, whole);
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return percent(static_cast<double>(part), static_cast<double>(whole));
}

std::string plural(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string with_thousands(std::int64_t n) {
  std::string text = std::to_string(n);
  const std::size_t first = n < 0 ? 1 : 0;
  for (std::size_t i = text.size(); i > first + 3;) text.insert(i -= 3, ",");
  return text;
}

std::string version_text(std::int64_t number) {
  return std::to_string(number / 10'000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

std::string hexadecimal(std::uint64_t number, int digits) {
  std::string text(static_cast<std::size_t>(digits), '0');
  for (std::size_t i = text.size(); i-- > 0; number >>= 4)
    text[i] = "0123456789abcdef"[number & 15];
  return text;
}

}  // namespace foreshard
