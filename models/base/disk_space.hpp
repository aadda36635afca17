// Room on the disks that a run is going to write to, looked at before it begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard {

struct PlannedOutput {
  std::string path;  // of a file or folder in a folder that exists
  std::int64_t bytes = 0;
};

// An error that names the largest output of a file system on which all that are planned there have no room
// together. Where the system does not say how much is left, nothing is wrong.
Result<void> check_disk_space(std::vector<PlannedOutput> outputs);

}  // namespace foreshard
