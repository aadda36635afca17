// Colour of text for people: on a terminal, unless NO_COLOR is set (https://no-color.org) or TERM says
// that it has none.
#pragma once

#include <string>
#include <string_view>

namespace foreshard::cli {

enum class Colour { red, yellow, cyan };

// Whether what is written to this file descriptor may be coloured.
bool has_colour(int descriptor);

std::string coloured(std::string_view text, Colour colour, bool is_coloured);

// Of text that reaches a terminal: the word of every line that begins "warning:".
std::string with_coloured_warnings(std::string_view text);

}  // namespace foreshard::cli
