#include "cli/python_hooks.hpp"

#include <filesystem>

#include "cli/child_process.hpp"

namespace foreshard::cli {

Result<std::string> python_path_with_hooks(const std::string& modules) {
  const std::string hooks = modules + "/hooks";
  std::error_code ignored;
  if (!std::filesystem::exists(hooks, ignored)) {
    return fail(hooks, "", "is not there; expected it next to the program, where a build puts it");
  }
  return in_front(hooks, "PYTHONPATH");
}

}  // namespace foreshard::cli
