#include "executor/file_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace foreshard::executor {

namespace {

tl::unexpected<Error> system_failure(const std::string& path, const std::string& what) {
  return fail(path, "", what + ": " + strerror(errno));
}

}  // namespace

std::string parent_folder(const std::string& path) {
  const auto end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  const auto slash = path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<void> sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return system_failure(folder, "cannot be opened");
  const int status = ::fsync(descriptor);
  // Some file systems cannot sync folders; their renames are as durable as they get.
  const bool failed = status != 0 && errno != EINVAL && errno != ENOTSUP;
  ::close(descriptor);
  if (failed) return system_failure(folder, "cannot be written to the disk");
  return {};
}

Result<FileWriter> FileWriter::create(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return fail(path, "", "is not a regular file; a file that may be written is expected");
  }
  const std::string temporary = path + ".foreshard-writing";
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                                S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
  if (descriptor < 0) return system_failure(path, "cannot be written");
  return FileWriter(path, temporary, descriptor);
}

FileWriter::FileWriter(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileWriter::~FileWriter() {
  abandon();
}

void FileWriter::abandon() {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  ::unlink(temporary_.c_str());
}

Result<void> FileWriter::write(std::span<const std::byte> bytes) {
  // Linux writes at most 2 GiB at once; smaller pieces also let a signal interrupt.
  constexpr std::size_t kPiece = 64 << 20;
  while (!bytes.empty()) {
    const auto written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kPiece));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure(path_, "cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> FileWriter::finish() {
  // Network file systems and quotas report a full disk only here.
  if (::fsync(descriptor_) != 0) return system_failure(path_, "cannot be written to the disk");
  if (::close(std::exchange(descriptor_, -1)) != 0 ||
      ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const auto failure = system_failure(path_, "cannot be written");
    ::unlink(temporary_.c_str());
    return failure;
  }
  return sync_folder(parent_folder(path_));
}

}  // namespace foreshard::executor
