#include "models/base/control_groups.hpp"

#include <fstream>
#include <sstream>

namespace foreshard {
namespace {

namespace fs = std::filesystem;

bool lists(const std::string& controllers, const std::string& wanted) {
  std::istringstream words(controllers);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == wanted) return true;
  }
  return false;
}

void add(std::vector<ControlGroup>& groups, const fs::path& mount, const std::string& path,
         int version) {
  groups.push_back({mount, version});
  for (const fs::path& part : fs::path(path).relative_path()) {
    groups.push_back({groups.back().folder / part, version});
  }
}

}  // namespace

std::vector<ControlGroup> control_groups(const fs::path& root, const std::string& controller) {
  const fs::path mounts = root / "sys/fs/cgroup";
  std::vector<ControlGroup> groups;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "hierarchy:controllers:path"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      add(groups, mounts, path, 2);
    } else if (lists(controllers, controller)) {
      const fs::path alone = mounts / controller;
      add(groups, fs::exists(alone) ? alone : mounts / controllers, path, 1);
    }
  }
  return groups;
}

}  // namespace foreshard
