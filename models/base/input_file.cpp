#include "models/base/input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace foreshard {
namespace {

namespace fs = std::filesystem;

bool is_missing(int reason) {
  return reason == ENOENT || reason == ENOTDIR;
}

tl::unexpected<Error> refused(const std::string& path, const std::string& what,
                              const std::string& expected) {
  return fail(path, "", what + "; expected " + expected);
}

tl::unexpected<Error> not_opened(const std::string& path, int reason, const std::string& expected) {
  return refused(path, std::string("cannot be opened (") + std::strerror(reason) + ")", expected);
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path, const std::string& expected, int flags) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
  if (descriptor < 0) {
    if (is_missing(errno)) return refused(path, "no such file", expected);
    return not_opened(path, errno, expected);
  }
  InputFile file(descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return not_opened(path, errno, expected);
  if (S_ISDIR(status.st_mode)) return refused(path, "is a folder", expected);
  const bool must_be_regular = (flags & O_NONBLOCK) != 0;
  if (must_be_regular && !S_ISREG(status.st_mode)) {
    return refused(path, "is a device or a pipe", expected);
  }
  return file;
}

Result<InputFile> InputFile::open(const std::string& path, const std::string& expected) {
  return open(path, expected, 0);
}

Result<InputFile> InputFile::open_regular(const std::string& path, const std::string& expected) {
  return open(path, expected, O_NONBLOCK);  // a pipe without a writer would keep us waiting
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t InputFile::read(char* to, std::size_t room) {
  std::size_t size = 0;
  while (size < room && trouble_.empty()) {
    const ssize_t more = ::read(descriptor_, to + size, room - size);
    if (more == 0) break;
    if (more > 0) {
      size += static_cast<std::size_t>(more);
    } else if (errno != EINTR) {
      trouble_ = std::string("cannot be read further (") + std::strerror(errno) + ")";
    }
  }
  return size;
}

Result<void> check_input_folder(const std::string& folder, const std::string& expected) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    if (is_missing(errno)) return refused(folder, "no such folder", expected);
    return not_opened(folder, errno, expected);
  }
  if (!S_ISDIR(status.st_mode)) return refused(folder, "is not a folder", expected);
  if (::access(folder.c_str(), R_OK | X_OK) != 0) return not_opened(folder, errno, expected);
  return {};
}

Result<std::vector<std::string>> files_in_folder(const std::string& folder,
                                                 const std::string& expected) {
  if (auto ok = check_input_folder(folder, expected); !ok) return tl::unexpected(ok.error());
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored)) files.push_back(at->path().string());
  }
  if (error) return not_opened(folder, error.value(), expected);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace foreshard
