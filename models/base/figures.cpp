#include "models/base/figures.hpp"

#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

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

std::string fixed(double value, int decimals) {
  char digits[400];
  const auto [end, error] =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, decimals);
  return std::string(digits, end);
}

std::string in_milliseconds(std::int64_t ns, int decimals) {
  return fixed(static_cast<double>(ns) / 1e6, decimals);
}

std::string milliseconds(std::int64_t ns) {
  return in_milliseconds(ns) + " ms";
}

std::string duration(std::int64_t ns) {
  if (ns == 0) return "0 ms";
  const double n = static_cast<double>(ns);
  if (n >= 1e9) return fixed(n / 1e9, 2) + " s";
  if (n >= 1e6) return fixed(n / 1e6, 1) + " ms";
  return fixed(n / 1e3, 1) + " us";
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

std::string signed_percent(double part, double whole) {
  return (part > 0 && whole != 0 ? "+" : "") + percent(part, whole);
}

std::string share(std::int64_t part, std::int64_t whole) {
  return percent(static_cast<double>(part), static_cast<double>(whole));
}

std::string counted(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  const std::size_t first = n < 0 ? 1 : 0;
  for (std::size_t i = text.size(); i > first + 3;) text.insert(i -= 3, ",");
  return text;
}

std::string hexadecimal(std::uint64_t number, int digits) {
  std::string text(static_cast<std::size_t>(digits), '0');
  for (std::size_t i = text.size(); i-- > 0; number >>= 4)
    text[i] = "0123456789abcdef"[number & 15];
  return text;
}

}  // namespace foreshard
