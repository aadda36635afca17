// A folder of the system's temporary ones that goes with its content.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace foreshard::traces {

class TemporaryFolder {
 public:
  // `purpose` is part of its name.
  explicit TemporaryFolder(const std::string& purpose) {
    std::error_code error;
    const auto parent = std::filesystem::temp_directory_path(error);
    path_ = (parent / ("foreshard-" + purpose + "-XXXXXX")).string();
    if (error || ::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (exists()) std::filesystem::remove_all(path_, ignored);
  }
  bool exists() const { return !path_.empty(); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace foreshard::traces
