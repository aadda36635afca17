// Strong types for what is counted: bytes, floating-point operations, nanoseconds. They keep a byte
// count from being added to a duration; each compiles to the bare integer. Doubles appear only
// inside cost formulas.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace foreshard {

using Nanoseconds = std::chrono::duration<std::int64_t, std::nano>;

// A count of bytes. Signed, so that differences and errors are bytes too.
struct Bytes {
  std::int64_t count = 0;

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) { return count += other.count, *this; }
  constexpr Bytes& operator-=(Bytes other) { return count -= other.count, *this; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return {a.count * n}; }
  friend constexpr Bytes operator*(std::int64_t n, Bytes a) { return {a.count * n}; }
};

constexpr Bytes kKiB{1024}, kMiB{1024 * 1024}, kGiB{1024 * 1024 * 1024};

// Smallest multiple of `step` that is not below n.
constexpr std::int64_t round_up(std::int64_t n, std::int64_t step) {
  return (n + step - 1) / step * step;
}
constexpr Bytes round_up(Bytes n, Bytes step) {
  return {round_up(n.count, step.count)};
}

// Buffers of the host are counted in whole cache lines.
constexpr std::int64_t kHostAlignment = 64;

constexpr std::int64_t ceil_divide(std::int64_t n, std::int64_t d) {
  return (n + d - 1) / d;
}

}  // namespace foreshard
