// A command that is run with variables added to its environment, as a shell would run it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard::cli {

// Its exit status, 128 + signal where a signal ended it. Ctrl-C is the command's; SIGTERM is passed on.
// The error says why it cannot be started.
Result<int> run_with(const std::vector<std::string>& command,
                     const std::map<std::string, std::string>& variables);

}  // namespace foreshard::cli
