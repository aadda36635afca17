// Writes a file so that its name only ever shows complete contents: the bytes go to a temporary
// name in the same folder, reach the disk, and are then renamed.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "models/error.hpp"

namespace foreshard::executor {

class FileWriter {
 public:
  static Result<FileWriter> create(const std::string& path);

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&& other) noexcept;
  ~FileWriter();  // removes the temporary file unless finish() succeeded

  Result<void> write(std::span<const std::byte> bytes);
  Result<void> finish();

 private:
  FileWriter(std::string path, std::string temporary, int descriptor);
  void abandon();

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

// Makes a rename or a new entry in this folder survive a power failure.
Result<void> sync_folder(const std::string& folder);

// The folder that holds `path`; "." for a bare name.
std::string parent_folder(const std::string& path);

}  // namespace foreshard::executor
