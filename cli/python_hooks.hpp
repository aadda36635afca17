// Hooks of Python programs (profiler/hooks), which a folder at the front of PYTHONPATH brings in.
#pragma once

#include <string>

#include "models/base/error.hpp"

namespace foreshard::cli {

// The value of PYTHONPATH. `modules`: the folder of the program's loadable modules, absolute.
Result<std::string> python_path_with_hooks(const std::string& modules);

}  // namespace foreshard::cli
