// Names that are the same in any case of ASCII letters, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace foreshard {

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace foreshard
