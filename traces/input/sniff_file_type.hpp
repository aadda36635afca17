// Detects the type of a file from its first bytes, for error messages about files of another type:
// "is a zip archive". Only for traces/.
#pragma once

#include <string>
#include <string_view>

namespace foreshard::traces {

// By the first bytes of a file; a thousand are enough.
std::string sniff_content(std::string_view text);
// The same of a file, inflated where it is gzip's. It can be read.
std::string sniff_file(const std::string& path);

// Whether text begins as an object or a list of JSON; tables of TOML begin with a bracket too.
bool begins_as_json(std::string_view text);

}  // namespace foreshard::traces
