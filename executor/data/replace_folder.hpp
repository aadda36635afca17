// A folder that is written as a whole: under another name until it is finished, and then put in the place
// of the one that was there, so that a crash at any moment leaves one of the two, whole.
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

// The path without slashes at its end, and the name that the folder has while it is written.
std::string plain_path(std::string path);
std::string writing_path(const std::string& path);

// Whether the folder could be written: the one above exists, and nothing would be replaced but a folder
// that is empty or `may_replace` it. `kind`: what that is, such as "a checkpoint".
Result<void> check_folder_target(const std::string& path, const std::string& kind,
                                 const std::function<bool(const std::string& path)>& may_replace);

// Makes the empty folder to write to, writing_path(path), without what a crash has left.
Result<void> begin_folder(const std::string& path);
// Removes it, after a failure.
void abandon_folder(const std::string& path);

// Moves `from` to `path`, replacing what is there. Where names cannot be swapped atomically the old
// folder is called PATH.foreshard-replaced for a moment; recover_folder and existing_folder take account of that.
Result<void> replace_folder(const std::string& from, const std::string& path,
                            const ReplaceOptions& options = {});

// The folder to read for `path`: itself, or PATH.foreshard-replaced when a crash fell between two renames.
std::string existing_folder(const std::string& path);

// Mends what such a crash left: afterwards a folder that was there is at `path` again.
Result<void> recover_folder(const std::string& path);

}  // namespace foreshard::executor
