// A moment as users write it: "1.2s", "350ms", "40us", "7ns". Without a unit it is in nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace foreshard {

// In nanoseconds; nothing where the text is no moment, or one beyond three years.
std::optional<std::int64_t> parse_moment(const std::string& text);

}  // namespace foreshard
