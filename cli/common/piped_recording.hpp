// Recordings that come through a pipe. Readers look at a recording more than once, and at any place of
// it, which a pipe cannot serve: its bytes go to a temporary file first, which is read in its place and
// goes with this object.
#pragma once

#include <list>
#include <map>
#include <string>

#include "models/base/error.hpp"
#include "traces/input/temporary_folder.hpp"

namespace foreshard::cli {

class PipedRecordings {
 public:
  // "-" is standard input. Names the temporary file instead of a pipe that is open already (/dev/stdin,
  // /dev/fd/63); other paths stay. A pipe in the file system is none: nobody may ever write to it.
  Result<void> store(std::string& path);

  // An error of a temporary file as one of the pipe that was given.
  Error of_pipe(Error error) const;

 private:
  std::list<traces::TemporaryFolder> folders_;
  std::map<std::string, std::string> pipes_;  // by temporary file
};

}  // namespace foreshard::cli
