// A file mapped read-only into memory: only the pages that are touched become resident.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "models/base/error.hpp"

namespace foreshard {

class MappedFile {
 public:
  // Errors as of InputFile::open_regular.
  static Result<MappedFile> open(const std::string& path, const std::string& expected);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace foreshard
