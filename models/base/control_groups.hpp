// The control groups (containers, batch systems) that this process lies in: each of them limits it,
// from the mount point down to its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace foreshard {

struct ControlGroup {
  std::filesystem::path folder;  // where its files are, if it can be seen
  int version = 2;               // 1: a hierarchy for each controller, with files of other names
};

// Those in which `controller` ("cpu", "memory") may be limited; of version 2 all. In a container the
// names may be the host's, of which nothing can be seen; the mount point remains. `root` holds proc/
// and sys/.
std::vector<ControlGroup> control_groups(const std::filesystem::path& root,
                                         const std::string& controller);

}  // namespace foreshard
