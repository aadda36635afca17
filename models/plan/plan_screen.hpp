// Prepares a plan's text for the TOML library (toml++ 3.3), which must not see two things: letters
// beyond ASCII, whose classification as white space it computes in an undefined way, and dotted
// keys of thousands of parts, which it recurses into. No valid plan needs either; letters
// beyond ASCII in comments are replaced, elsewhere they are an error.
#pragma once

#include <string>
#include <string_view>

#include "models/base/error.hpp"

namespace foreshard {

// The text with the same lines and values, in ASCII.
Result<std::string> screened_plan(std::string_view text, const std::string& file);

}  // namespace foreshard
