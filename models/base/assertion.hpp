// Assertions on what this program itself guarantees, in every build. A broken one is a defect here,
// never a mistake of the user's: it prints where and what, and aborts before a wrong answer is given.
#pragma once

#include <type_traits>
#include <utility>

namespace foreshard {

// Prints "foreshard: internal error: FILE:LINE: MESSAGE (CONDITION)" to standard error and aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* message, const char* file,
                                   int line);

// `value` as another integer type; aborts, naming the caller's line, where it does not fit.
template <typename To, typename From>
constexpr To narrow(From value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  static_assert(std::is_integral_v<To> && std::is_integral_v<From>);
  if (!std::in_range<To>(value)) {
    assertion_failed("narrow", "an integer does not fit its type", file, line);
  }
  return static_cast<To>(value);
}

}  // namespace foreshard

#define FORESHARD_ASSERT(condition, message) \
  ((condition) ? static_cast<void>(0)        \
               : ::foreshard::assertion_failed(#condition, message, __FILE__, __LINE__))
