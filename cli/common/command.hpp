// The command line: one program with a sub-command for each question. A command is an object: it
// adds its options to the parser, which fills its members, and then runs. commands.hpp lists all.
//
// Exit status: 0 success, 1 failure of the run, 2 bad usage or input, 3 out of device memory, 128 + N ended by signal N.
#pragma once

#include <string>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard::cli {

class Options;

constexpr int kSuccess = 0, kRunFailed = 1, kBadInput = 2, kOutOfMemory = 3;

// What help and manual print of a command besides its options.
struct CommandText {
  std::string name;
  std::string group;    // the heading under which `foreshard --help` lists it
  std::string summary;  // one line
  std::string details;  // paragraphs, divided by empty lines
  std::vector<std::string> examples;
};

class Command {
 public:
  virtual ~Command() = default;
  virtual CommandText text() const = 0;
  virtual void add_to(Options& options) = 0;
  // The exit status, or an error of the usage or the input, which is then printed.
  virtual Result<int> run() = 0;
};

}  // namespace foreshard::cli
