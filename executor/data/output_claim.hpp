// Keeps other runs from writing to a folder or a file that this one will write to: two runs of one
// name would remove each other's unfinished files. A file beside it, PATH.foreshard-lock, is locked
// as long as the claim lives; a killed run's lock goes with it, whatever it leaves.
#pragma once

#include <string>
#include <utility>

#include "models/base/error.hpp"

namespace foreshard::executor {

class OutputClaim {
 public:
  // An error where another process has it, or no lock can be made.
  static Result<OutputClaim> take(const std::string& path);

  OutputClaim(OutputClaim&& other) noexcept
      : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  OutputClaim& operator=(OutputClaim&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~OutputClaim();

 private:
  OutputClaim(std::string file, int descriptor) : file_(std::move(file)), descriptor_(descriptor) {}

  std::string file_;
  int descriptor_ = -1;
};

}  // namespace foreshard::executor
