#include "executor/data/replace_folder.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "models/base/atomic_file.hpp"

namespace foreshard::executor {

namespace {

namespace fs = std::filesystem;

std::string old_name(const std::string& path) {
  return path + ".foreshard-replaced";
}

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Result<void> move(const std::string& from, const std::string& to, const std::string& path) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return fail(path, "", "cannot be replaced: " + std::string(strerror(errno)));
}

// False where the file system or the kernel cannot swap two names.
bool swap_names(const std::string& a, const std::string& b) {
#if defined(RENAME_EXCHANGE)
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
#else
  return false;
#endif
}

// A folder that is in the way but no longer needed. What cannot be removed is only untidy.
void remove_tree(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

std::string plain_path(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string writing_path(const std::string& path) {
  return path + ".foreshard-writing";
}

Result<void> check_folder_target(const std::string& given, const std::string& kind,
                                 const std::function<bool(const std::string& path)>& may_replace) {
  const auto path = plain_path(given);
  const auto parent = parent_folder(path);
  std::error_code error;
  if (path.empty() || path == "/") {
    return fail(given, "",
                "is no name for " + kind + "; expected that of a folder that can be created");
  }
  if (!fs::is_directory(parent, error)) {
    return fail(path, "", "cannot be created: " + parent + " is not a folder");
  }
  if (::access(parent.c_str(), W_OK) != 0) {
    return fail(path, "", "cannot be created: " + parent + ": " + strerror(errno));
  }
  if (!fs::exists(path, error)) return {};
  const bool is_folder = fs::is_directory(path, error);
  if (is_folder && (fs::is_empty(path, error) || may_replace(path))) return {};
  return fail(path, "",
              "is not " + kind + "; expected a new name, or that of " + kind + " to replace");
}

Result<void> begin_folder(const std::string& path) {
  if (auto done = recover_folder(path); !done) return done;
  abandon_folder(path);
  std::error_code error;
  if (fs::create_directory(writing_path(path), error)) return {};
  return fail(path, "", "cannot be created: " + error.message());
}

void abandon_folder(const std::string& path) {
  remove_tree(writing_path(path));
}

Result<void> replace_folder(const std::string& from, const std::string& path,
                            const ReplaceOptions& options) {
  const auto reached = [&](ReplaceStep step) {
    if (options.reached) options.reached(step);
  };
  reached(ReplaceStep::nothing_moved);
  std::string replaced;
  if (!exists(path)) {
    if (auto done = move(from, path, path); !done) return done;
  } else if (options.exchange && swap_names(from, path)) {
    replaced = from;
  } else {
    replaced = old_name(path);
    remove_tree(replaced);
    if (auto done = move(path, replaced, path); !done) return done;
    reached(ReplaceStep::old_moved_away);
    if (auto done = move(from, path, path); !done) return done;
  }
  if (auto done = sync_folder(parent_folder(path)); !done) return done;
  reached(ReplaceStep::new_in_place);
  if (!replaced.empty()) remove_tree(replaced);
  reached(ReplaceStep::old_removed);
  return {};
}

std::string existing_folder(const std::string& path) {
  return !exists(path) && exists(old_name(path)) ? old_name(path) : path;
}

Result<void> recover_folder(const std::string& path) {
  if (!exists(old_name(path))) return {};
  if (!exists(path)) return move(old_name(path), path, path);
  remove_tree(old_name(path));
  return {};
}

}  // namespace foreshard::executor
