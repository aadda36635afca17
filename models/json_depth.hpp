// JSON parsers recurse or build towers of objects for deeply nested input; this check comes first.
#pragma once

#include <string_view>

namespace foreshard {

// Whether arrays and objects in the text nest deeper than `limit`.
bool json_nests_deeper_than(std::string_view json, int limit);

}  // namespace foreshard
