// The parser of the whole command line: every command a sub-command of CLI11's, each with its options.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/common/command.hpp"
#include "cli/common/options.hpp"

namespace foreshard::cli {

class CommandLine {
 public:
  CommandLine();
  ~CommandLine();

  struct Entry {
    std::unique_ptr<Command> command;
    CommandText text;
    Options options;
  };
  const std::vector<std::unique_ptr<Entry>>& entries() const { return entries_; }
  const Entry* find(const std::string& name) const;
  // The error for a name that find() does not have.
  Error unknown_command(const std::string& name) const;

  // Runs the command that the arguments (without the program's name) name, or prints what they request
  // for. The exit status, or what is wrong with them.
  Result<int> run(const std::vector<std::string>& arguments);

 private:
  Result<void> parse(const Entry& entry, std::vector<std::string> arguments);

  std::unique_ptr<CLI::App> app_;
  std::vector<std::unique_ptr<Entry>> entries_;
  PipedRecordings piped_;
};

}  // namespace foreshard::cli
