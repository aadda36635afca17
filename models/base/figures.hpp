// Formatting of numbers, times and sizes, the same in every report and independent of the locale.
#pragma once

#include <cstdint>
#include <string>

namespace foreshard {

// As printf writes it, in the C locale.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

std::string to_fixed(double value, int decimals);                // "1.250"
std::string in_milliseconds(std::int64_t ns, int decimals = 3);  // "12.346", the unit elsewhere
std::string milliseconds(std::int64_t ns);                       // "12.346 ms"
std::string duration(std::int64_t ns);  // four digits: "1.234 s", "12.35 ms", "123.5 us", "12 ns"
std::string binary_bytes(std::int64_t bytes);           // "1.53 GiB", "24.00 MiB", "512 B"
std::string percent(double part, double whole);         // "12.3 %"; "-" where the whole is nothing
std::string signed_percent(double part, double whole);  // "+12.3 %", "-0.5 %", "0.0 %"
std::string percent(std::int64_t part, std::int64_t whole);       // the same
std::string plural(std::int64_t count, const std::string& what);  // "1 rank", "2 ranks"
std::string with_thousands(std::int64_t n);                       // "1,234,567"
// A version of three parts as a number, the last two of two digits each: "9.19.0" of 91900.
std::string version_text(std::int64_t number);
// The last `digits` of a number in base 16: "00000000075bcd15". Identifiers such as a program's hash
// are written this way everywhere.
std::string hexadecimal(std::uint64_t number, int digits = 16);

}  // namespace foreshard
