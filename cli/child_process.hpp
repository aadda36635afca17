// A command of the user's, run with variables added to its environment as a shell would run it, several times
// at once where that is asked for, and the folder that it leaves its findings in.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard::cli {

// Where a command's standard output goes.
enum class ChildOutput { its_own, standard_error };

using Variables = std::map<std::string, std::string>;

// The value of a variable that lists folders or libraries, with one more in front.
std::string in_front(const std::string& entry, const char* name);

constexpr std::size_t kMostChildren = 64;  // at once

// The exit status of the command, run once with each of the variables at the same time: 128 + signal where a
// signal ended it. Once one of them fails all others are ended, and have its status. Ctrl-C is the command's;
// SIGTERM is passed on. The error says why it cannot be started.
Result<std::vector<int>> run_children(const std::vector<std::string>& command,
                                      const std::vector<Variables>& each, ChildOutput output);

Result<int> run_child(const std::vector<std::string>& command, const Variables& variables,
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
