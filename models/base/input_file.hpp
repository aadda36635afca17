// Opens what a user names for reading. Whatever reads a file opens it here, so that one that is
// missing, a folder or not permitted is refused in the same words everywhere: "no such file; expected
// a plan in TOML".
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard {

class InputFile {
 public:
  // `expected` ends the message, such as "a plan in TOML". A device or a pipe will do as well.
  static Result<InputFile> open(const std::string& path, const std::string& expected);
  // One that has a size and can be read at any place.
  static Result<InputFile> open_regular(const std::string& path, const std::string& expected);

  InputFile(InputFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  InputFile& operator=(InputFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(trouble_, other.trouble_);
    return *this;
  }
  ~InputFile();

  int descriptor() const { return descriptor_; }

  // The next bytes; fewer than `room` at the end and where there is trouble.
  std::size_t read(char* to, std::size_t room);
  // What keeps the rest from being read, such as "cannot be read further (Input/output error)".
  const std::string& trouble() const { return trouble_; }

 private:
  explicit InputFile(int descriptor) : descriptor_(descriptor) {}
  static Result<InputFile> open(const std::string& path, const std::string& expected, int flags);

  int descriptor_ = -1;
  std::string trouble_;
};

// Refuses paths that are not folders, worded as for files.
Result<void> check_input_folder(const std::string& folder, const std::string& expected);
// The paths of the files in a folder, in the order of their names.
Result<std::vector<std::string>> files_in_folder(const std::string& folder,
                                                 const std::string& expected);

}  // namespace foreshard
