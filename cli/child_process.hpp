// A command of the user's, run with variables added to its environment as a shell would run it, and the
// folder that it leaves its findings in.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard::cli {

// Where a command's standard output goes.
enum class ChildOutput { its_own, standard_error };

// Its exit status, 128 + signal where a signal ended it. Ctrl-C is the command's; SIGTERM is passed on.
// The error says why it cannot be started.
Result<int> run_child(const std::vector<std::string>& command,
                      const std::map<std::string, std::string>& variables,
                      ChildOutput output = ChildOutput::its_own);

// Beside a file that is written, as both may be large. It goes with this object.
class ScratchFolder {
 public:
  static Result<ScratchFolder> beside(const std::string& output);
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace foreshard::cli
