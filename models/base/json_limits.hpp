// What must be known of a stranger's JSON before it is parsed: parsers build a tower of objects for
// what nests deeply, and whoever walks or writes that tower recurses until the stack is used up; two
// bytes of text may become a hundred bytes of objects.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace foreshard {

// Some 400 MB of objects.
constexpr std::size_t kMostJsonValues = std::size_t{1} << 22;

// What the text has too much of, as "nests deeper than 16 levels" or "holds more than 4194304 values";
// empty where its arrays and objects nest at most `deepest` levels and there are at most `most_values`.
// For text that is no JSON either may be said.
std::string json_excess(std::string_view json, int deepest,
                        std::size_t most_values = kMostJsonValues);

}  // namespace foreshard
