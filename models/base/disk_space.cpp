#include "models/base/disk_space.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "models/base/atomic_file.hpp"
#include "models/base/figures.hpp"

namespace foreshard {

Result<void> check_disk_space(std::vector<PlannedOutput> outputs) {
  std::ranges::sort(outputs, std::ranges::greater(), &PlannedOutput::bytes);
  std::map<dev_t, std::vector<const PlannedOutput*>> by_disk;
  for (const PlannedOutput& output : outputs) {
    struct stat folder {};
    if (is_written_through(output.path)) continue;
    if (::stat(parent_folder(output.path).c_str(), &folder) != 0) continue;
    by_disk[folder.st_dev].push_back(&output);
  }
  for (const auto& [disk, on_disk] : by_disk) {
    const PlannedOutput& largest = *on_disk.front();
    struct statvfs room {};
    if (::statvfs(parent_folder(largest.path).c_str(), &room) != 0) continue;
    std::int64_t needed = 0;
    for (const PlannedOutput* output : on_disk) needed += output->bytes;
    const auto blocks = static_cast<std::int64_t>(room.f_bavail);
    const auto block = static_cast<std::int64_t>(room.f_frsize);
    // Some file systems report no size at all.
    if (room.f_blocks == 0 || needed / block < blocks) continue;
    const std::string more = on_disk.size() > 1 ? " together with what else is written there" : "";
    return fail(largest.path, "",
                "needs " + binary_bytes(needed) + " on its disk" + more + ", of which " +
                    binary_bytes(blocks * block) +
                    " are available; expected more room, or "
                    "another disk");
  }
  return {};
}

}  // namespace foreshard
