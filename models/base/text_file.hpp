// Reads a whole small text file: configs, plans, catalogues. Folders, files that cannot be read and
// files too large to be what is expected are errors that name the path.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "models/base/units.hpp"

namespace foreshard {

// `expected` completes the message, such as "a plan in TOML".
Result<std::string> read_text_file(const std::string& path, const std::string& expected,
                                   Bytes limit = 16 * kMiB);

}  // namespace foreshard
