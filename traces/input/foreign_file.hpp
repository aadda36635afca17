// What a file looks like from its beginning, for messages to someone who gave it to the wrong command:
// "is a zip archive". Only for traces/.
#pragma once

#include <string>
#include <string_view>

namespace foreshard::traces {

// By the first bytes of a file; a thousand are enough.
std::string looks_like(std::string_view text);
// The same of a file, inflated where it is gzip's. It can be read.
std::string file_looks_like(const std::string& path);

// Whether text begins as an object or a list of JSON; tables of TOML begin with a bracket too.
bool begins_as_json(std::string_view text);

}  // namespace foreshard::traces
