// Recordings that come through a pipe. Readers look at a recording more than once, and at any place of
// it, which a pipe cannot serve: its bytes go to a temporary file first, which is read in its place and
// goes with this object. What is said of that file names the pipe.
#pragma once

#include <list>
#include <string>

#include "models/base/error.hpp"
#include "traces/input/temporary_folder.hpp"

namespace foreshard::cli {

class PipedRecordings {
 public:
  // "-" is standard input. Names the temporary file instead of a pipe that is open already (/dev/stdin,
  // /dev/fd/63); other paths stay. A pipe in the file system is none: nobody may ever write to it.
  Result<void> store(std::string& path);

 private:
  std::list<traces::TemporaryFolder> folders_;
};

// A text with the pipes that were given in place of the temporary files of this process.
std::string as_given(std::string text);

}  // namespace foreshard::cli
