#include "models/base/atomic_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <streambuf>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace foreshard {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kNewFile = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
// Of memory and places in a file that pass by the cache: at least the blocks of any disk.
constexpr std::size_t kDirectAlignment = 4096, kDirectPiece = 4 << 20;
constexpr mode_t kPermissions = S_IRWXU | S_IRWXG | S_IRWXO;

tl::unexpected<Error> system_failure(const std::string& path, const std::string& what,
                                     const std::string& expected) {
  return fail(path, "", what + " (" + std::strerror(errno) + "); expected " + expected);
}

tl::unexpected<Error> cannot_create(const std::string& path) {
  return system_failure(path, "cannot be created", "a writable location");
}

tl::unexpected<Error> cannot_write(const std::string& path) {
  return system_failure(path, "cannot be written", "a writable location");
}

// The descriptor of this process that a name such as /dev/stdout or /dev/fd/3 stands for; -1 for
// other names.
int descriptor_named(const std::string& path) {
  if (path == "-") return STDOUT_FILENO;
  std::error_code error;
  const fs::path descriptors = fs::canonical("/proc/self/fd", error);
  if (error) return -1;
  fs::path name = path;
  constexpr int kMaxLinks = 40;
  for (int link = 0; link < kMaxLinks; ++link) {
    const fs::path folder = fs::canonical(parent_folder(name.string()), error);
    if (error) return -1;
    if (folder == descriptors) {
      const std::string digits = name.filename().string();
      int number = -1;
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      return read.ec == std::errc() && read.ptr == digits.data() + digits.size() ? number : -1;
    }
    const fs::path target = fs::read_symlink(name, error);
    if (error) return -1;
    name = folder / target;
  }
  return -1;
}

// A hidden name beside `path` that cannot be predicted.
std::string temporary_name(const std::string& path) {
  constexpr std::size_t kMaxOfName = 128;  // of the 255 bytes a name may have
  std::array<unsigned char, 12> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    throw std::system_error(errno, std::generic_category(), "no random numbers");
  }
  std::string letters;
  for (const unsigned char byte : random) letters += static_cast<char>('a' + byte % 26);
  const fs::path file(path);
  const std::string hidden =
      "." + file.filename().string().substr(0, kMaxOfName) + "." + letters + ".tmp";
  return (file.parent_path() / hidden).string();
}

// Sends a stream's bytes to a file and remembers the first failure.
class FileBuffer final : public std::streambuf {
 public:
  explicit FileBuffer(AtomicFile& file) : file_(file) {
    setp(block_.data(), block_.data() + block_.size());
  }

  Result<void> done() {
    drain();
    return done_;
  }

 private:
  bool drain() {
    const std::string_view written(pbase(), static_cast<std::size_t>(pptr() - pbase()));
    if (done_) done_ = file_.write(written);
    setp(block_.data(), block_.data() + block_.size());
    return done_.has_value();
  }

  int_type overflow(int_type c) override {
    if (!drain()) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }

  int sync() override { return drain() ? 0 : -1; }

  AtomicFile& file_;
  Result<void> done_;
  std::array<char, 1 << 16> block_{};
};

}  // namespace

bool is_written_through(const std::string& path) {
  std::error_code ignored;
  return fs::is_other(fs::status(path, ignored)) || descriptor_named(path) >= 0;
}

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat named {};
  if (::lstat(path.c_str(), &named) != 0) return {};
  return FileIdentity{named.st_dev, named.st_ino};
}

std::optional<FileIdentity> identity_of(int descriptor) {
  struct stat open {};
  if (::fstat(descriptor, &open) != 0) return {};
  return FileIdentity{open.st_dev, open.st_ino};
}

std::string parent_folder(const std::string& path) {
  const auto end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  const auto slash = path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<void> sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder that may be written but not read cannot be synchronised.
  if (descriptor < 0 && errno == EACCES) return {};
  if (descriptor < 0) return cannot_write(folder);
  const int status = ::fsync(descriptor);
  // Some file systems cannot sync folders; their renames are as durable as they get.
  const bool has_failed = status != 0 && errno != EINVAL && errno != ENOTSUP;
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  if (has_failed) return cannot_write(folder);
  return {};
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  if (const int number = descriptor_named(path); number >= 0) {
    const int descriptor = ::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (descriptor < 0) return cannot_create(path);
    return AtomicFile(path, "", descriptor);
  }
  struct stat old {};
  const bool is_there = ::stat(path.c_str(), &old) == 0;
  if (is_there && S_ISDIR(old.st_mode)) {
    return fail(path, "", "is a folder; expected the name of a file to write");
  }
  if (is_there && !S_ISREG(old.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0) return cannot_create(path);
    return AtomicFile(path, "", descriptor);
  }
  if (is_there && ::access(path.c_str(), W_OK) != 0) return cannot_write(path);
  const mode_t mode = is_there ? old.st_mode & kPermissions : kNewFile;
  const std::string temporary = temporary_name(path);
  const int descriptor =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (descriptor < 0) return cannot_create(path);
  AtomicFile file(path, temporary, descriptor);
  if (is_there && ::fchmod(descriptor, mode) != 0) return cannot_create(path);
  return file;
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      collected_(std::move(other.collected_)),
      filled_(other.filled_) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(collected_, other.collected_);
  std::swap(filled_, other.filled_);
  return *this;
}

AtomicFile::~AtomicFile() {
  abandon();
}

void AtomicFile::abandon() {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  if (is_replacing()) ::unlink(temporary_.c_str());
}

void AtomicFile::pass_by_cache() {
  const int flags = ::fcntl(descriptor_, F_GETFL);
  if (!is_replacing() || flags < 0 || ::fcntl(descriptor_, F_SETFL, flags | O_DIRECT) != 0) return;
  collected_.reset(static_cast<std::byte*>(std::aligned_alloc(kDirectAlignment, kDirectPiece)));
  if (collected_ == nullptr) ::fcntl(descriptor_, F_SETFL, flags);
}

Result<void> AtomicFile::write(std::span<const std::byte> bytes) {
  while (collected_ != nullptr && !bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kDirectPiece - filled_);
    std::memcpy(collected_.get() + filled_, bytes.data(), count);
    filled_ += count;
    bytes = bytes.subspan(count);
    if (filled_ < kDirectPiece) continue;
    if (auto done = write_out({collected_.get(), std::exchange(filled_, 0)}); !done) return done;
  }
  return write_out(bytes);
}

// The rest, which is no whole number of the disk's blocks.
Result<void> AtomicFile::end_direct() {
  if (collected_ == nullptr) return {};
  ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_DIRECT);
  const auto collected = std::exchange(collected_, nullptr);
  return write_out({collected.get(), filled_});
}

Result<void> AtomicFile::write_out(std::span<const std::byte> bytes) {
  // Linux writes at most 2 GiB at once; smaller pieces also let a signal interrupt.
  constexpr std::size_t kPiece = 64 << 20;
  while (!bytes.empty()) {
    const auto written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kPiece));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) return {};
    // The file system takes this flag and does not do it, or only for other sizes.
    const int flags = ::fcntl(descriptor_, F_GETFL);
    if (written < 0 && errno == EINVAL && (flags & O_DIRECT) != 0) {
      ::fcntl(descriptor_, F_SETFL, flags & ~O_DIRECT);
      continue;
    }
    if (written < 0) return cannot_write(path_);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> AtomicFile::commit() {
  if (auto done = end_direct(); !done) return done;
  // Network file systems and quotas report a full disk only here, or when the file is closed.
  bool is_done = !is_replacing() || ::fsync(descriptor_) == 0;
  int reason = errno;
  if (::close(std::exchange(descriptor_, -1)) != 0 && is_done) {
    is_done = false;
    reason = errno;
  }
  if (!is_replacing()) {
    errno = reason;
    return is_done ? Result<void>() : cannot_write(path_);
  }
  if (is_done && ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    is_done = false;
    reason = errno;
  }
  if (!is_done) {
    ::unlink(temporary_.c_str());
    errno = reason;
    return cannot_write(path_);
  }
  return sync_folder(parent_folder(path_));
}

Result<void> write_atomically(const std::string& path, std::string_view text) {
  auto file = AtomicFile::create(path);
  if (!file) return tl::unexpected(file.error());
  if (auto written = file->write(text); !written) return written;
  return file->commit();
}

Result<void> write_atomically(const std::string& path,
                              const std::function<void(std::ostream& out)>& produce) {
  auto file = AtomicFile::create(path);
  if (!file) return tl::unexpected(file.error());
  FileBuffer buffer(*file);
  std::ostream out(&buffer);
  produce(out);
  if (auto written = buffer.done(); !written) return written;
  return file->commit();
}

}  // namespace foreshard
