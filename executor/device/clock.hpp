// The kernel's clocks, and lengths of time as messages print them.
#pragma once

#include <string>

#include <time.h>

#include "models/base/figures.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor {

inline Nanoseconds read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return Nanoseconds{std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec};
}

inline Nanoseconds monotonic_now() {
  return read_clock(CLOCK_MONOTONIC);
}

// "0.25 s", "1800 s"
inline std::string seconds_text(Nanoseconds time) {
  std::string text = to_fixed(static_cast<double>(time.count()) * 1e-9, 3);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

}  // namespace foreshard::executor
