// A small trace with something of everything, and a folder that goes with the test.
#pragma once

#include <filesystem>
#include <string>

#include "traces/trace.hpp"

namespace foreshard::traces {

Trace sample_trace();

// Empty when equal, otherwise where the two differ first.
std::string difference(const Trace& a, const Trace& b);

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t files() const;  // in the folder, hidden ones too

 private:
  std::filesystem::path folder_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

}  // namespace foreshard::traces
