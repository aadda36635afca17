// Checks of untrusted JSON before it is parsed: for deeply nested text parsers build a deep tree of
// objects, and code that walks or writes it recurses until the stack overflows; two bytes of text may
// become a hundred bytes of objects.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace foreshard {

// Some 400 MB of objects.
constexpr std::size_t kMaxJsonValues = std::size_t{1} << 22;

// What the text has too much of, as "nests deeper than 16 levels" or "holds more than 4194304 values";
// empty where its arrays and objects nest at most `deepest` levels and there are at most `most_values`.
// For text that only begins like JSON the result may be either; other text has no excess.
std::string json_excess(std::string_view json, int deepest,
                        std::size_t most_values = kMaxJsonValues);

// "line 3, column 7" of a byte that is counted from 1, as nlohmann::json's parse errors count it.
std::string line_and_column(std::string_view text, std::size_t byte);

}  // namespace foreshard
