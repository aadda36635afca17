// How the rehearsal ends where it would have to guess: a sentence on standard error and exit status
// 70.
#pragma once

#include <string_view>

namespace foreshard::rehearsal {

inline constexpr int kRefusalStatus = 70;  // EX_SOFTWARE of sysexits.h

[[noreturn]] void refuse(std::string_view entry_point);

// With a reason of its own.
[[noreturn]] void stop(std::string_view sentence);

}  // namespace foreshard::rehearsal
