#include "models/base/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>

#include "models/base/input_file.hpp"

namespace foreshard {

Result<MappedFile> MappedFile::open(const std::string& path, const std::string& expected) {
  const auto input = InputFile::open_regular(path, expected);
  if (!input) return tl::unexpected(input.error());
  struct stat status {};
  MappedFile file;
  file.path_ = path;
  if (::fstat(input->descriptor(), &status) == 0) {
    file.size_ = static_cast<std::size_t>(status.st_size);
  }
  if (file.size_ == 0) return file;  // mmap refuses empty files
  void* data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, input->descriptor(), 0);
  if (data == MAP_FAILED) {
    const std::string reason = std::strerror(errno);
    file.size_ = 0;
    return fail(path, "", "cannot be mapped (" + reason + "); expected " + expected);
  }
  file.data_ = static_cast<const std::byte*>(data);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept {
  *this = std::move(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace foreshard
