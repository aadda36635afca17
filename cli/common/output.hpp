// What commands print and write. Errors go to standard error as `foreshard: error: FILE: FIELD: what
// is wrong; what is expected`; with `--json -` standard output carries one JSON object and nothing
// else.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <iosfwd>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/common/command.hpp"
#include "cli/common/options.hpp"

namespace foreshard::cli {

// Prints an error in the form above and returns its exit status.
int complain(const Error& error, int status = kBadInput);
int complain(const std::exception& error);  // of a failure that users cannot cause
// Text for people on standard output: the only way there, since what files and options hold must not
// reach a terminal as it is. An error where it cannot be written.
Result<void> show(const std::string& text);
// `foreshard: warning: ...` on standard error.
void warn(const std::string& warning);
// `foreshard: note: ...` on standard error, of what is as it should be.
void note(const std::string& note);
// The exit status of what was written: what cannot be is a failure of the run, not of its input.
int written(const Result<void>& done);

// Where a command's JSON goes: nowhere, standard output ("-"), or a file.
class JsonOutput {
 public:
  void add_to(Options& options);
  bool is_wanted() const { return !path_.empty(); }
  // The output replaces the text for people.
  bool is_standard_output() const { return path_ == "-"; }
  // Before any work: a folder that is not there is an error now.
  Result<void> check() const;
  Result<void> write(const nlohmann::ordered_json& json, int indent = 2) const;
  Result<void> write(const std::string& json) const;
  // An answer too long to be held: `members` are lines with those of the object, each indented by two.
  Result<void> write_members(const std::function<void(std::ostream& out)>& members) const;
  // Both answers, each where it is wanted.
  Result<void> answer(const std::string& json, const std::string& text) const;

 private:
  std::string path_;
};

// An output file's folder exists and can be written to.
Result<void> check_output(const std::string& path, const std::string& option);
// The same of a trace, which no device or pipe can take.
Result<void> check_trace_output(const std::string& path, const std::string& option);
// Writes it whole or not at all; the error names the option.
Result<void> write_output(const std::string& path, const std::string& option,
                          const std::function<void(std::ostream& out)>& produce);

}  // namespace foreshard::cli
