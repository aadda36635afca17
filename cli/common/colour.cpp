#include "cli/common/colour.hpp"

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

namespace foreshard::cli {

bool has_colour(int descriptor) {
  const char* const off = std::getenv("NO_COLOR");
  if (off != nullptr && *off != '\0') return false;
  const char* const terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) != "dumb" && ::isatty(descriptor) != 0;
}

std::string coloured(std::string_view text, Colour colour, bool is_coloured) {
  if (!is_coloured) return std::string(text);
  const char* const code = colour == Colour::red      ? "\033[1;31m"
                           : colour == Colour::yellow ? "\033[1;33m"
                                                      : "\033[1;36m";
  return code + std::string(text) + "\033[0m";
}

std::string with_coloured_warnings(std::string_view text) {
  constexpr std::string_view kWord = "warning:";
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    std::string_view line = text.substr(begin, end - begin);
    if (line.starts_with(kWord)) {
      out += coloured(kWord, Colour::yellow, true);
      line.remove_prefix(kWord.size());
    }
    out += line;
    begin = end;
  }
  return out;
}

}  // namespace foreshard::cli
