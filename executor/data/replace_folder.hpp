// Puts a finished folder in the place of another so that a crash at any moment leaves one of the
// two, whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "models/base/error.hpp"

namespace foreshard::executor {

// The moments between which a crash may fall.
enum class ReplaceStep : std::uint8_t { nothing_moved, old_moved_away, new_in_place, old_removed };

struct ReplaceOptions {
  bool exchange = true;  // swap the two names at once where the file system can
  std::function<void(ReplaceStep)> reached = {};  // for tests that crash there
};

// Moves `from` to `path`, replacing what is there. Where names cannot be swapped atomically the old
// folder is called PATH.foreshard-replaced for a moment; recover_folder and existing_folder take account of that.
Result<void> replace_folder(const std::string& from, const std::string& path,
                            const ReplaceOptions& options = {});

// The folder to read for `path`: itself, or PATH.foreshard-replaced when a crash fell between two renames.
std::string existing_folder(const std::string& path);

// Mends what such a crash left: afterwards a folder that was there is at `path` again.
Result<void> recover_folder(const std::string& path);

}  // namespace foreshard::executor
