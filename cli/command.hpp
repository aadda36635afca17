// The command line: one program with a subcommand for each question. This header is what the
// subcommands share; each lives in a file of its own and is listed in commands().
//
// Exit status: 0 success, 1 failure of the run, 2 bad usage or input, 3 out of device memory. What
// is wrong goes to standard error as `foreshard: error: FILE: FIELD: what is wrong; what is
// expected`; with `--json -` standard output carries one JSON object and nothing else.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "models/base/error.hpp"
#include "models/program/step_program.hpp"
#include "models/sharding/job.hpp"

namespace CLI {
class App;
}

namespace foreshard::cli {

constexpr int kSuccess = 0, kRunFailed = 1, kBadInput = 2, kOutOfMemory = 3;

// Prints an error as the contract says and returns its exit status.
int complain(const Error& error, int status = kBadInput);
int complain(const std::exception& error);  // of what nobody could cause; the run has failed
// Text for people on standard output: the only way there, since what files and flags say of
// themselves must not reach a terminal as it is. An error where it cannot be written.
Result<void> show(const std::string& text);
// `foreshard: warning: ...` on standard error.
void warn(const std::string& warning);
// The peaks of a rank's allocator, as all answers name them.
nlohmann::ordered_json peaks_json(std::int64_t allocated, std::int64_t reserved,
                                  std::int64_t active);
// JSON as text on one line, or indented: always UTF-8, whatever names stand in it.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);
// The exit status of a command: its own, or that of bad input.
int status_of(const Result<int>& done);
// The exit status of what was written: what cannot be is a failure of the run, not of its input.
int written(const Result<void>& done);

// A subcommand: adds its flags to the parser, and runs once they have been read.
struct Command {
  const char* name;
  const char* summary;
  const char* example;
  void (*add_flags)(CLI::App& app);
  int (*run)();
};
const std::vector<Command>& commands();

// The flags that name a job, and the job they name.
struct JobFlags {
  std::string model, plan;
  int ranks = 0;
  int nodes = 0;

  void add_to(CLI::App& app);
  Result<Job> load() const;
};

// "2GiB", "512 MiB", "80GB", "1000000": bytes.
Result<std::int64_t> parse_bytes(const std::string& text, const std::string& flag);

// Where a command's JSON goes: nowhere, standard output ("-"), or a file.
class JsonOutput {
 public:
  void add_to(CLI::App& app);
  bool is_wanted() const { return !path_.empty(); }
  // The output replaces the text for people.
  bool is_standard_output() const { return path_ == "-"; }
  // Before any work: a folder that is not there is an error now.
  Result<void> check() const;
  Result<void> write(const nlohmann::ordered_json& json, int indent = 2) const;
  // Both answers, each where it is wanted.
  Result<void> answer(const std::string& json, const std::string& text) const;

 private:
  Result<void> write_text(const std::string& json) const;

  std::string path_;
};

// An output file's folder exists and can be written to.
Result<void> check_output(const std::string& path, const std::string& flag);
// The same of a trace, which no device or pipe can take.
Result<void> check_trace_output(const std::string& path, const std::string& flag);
// Writes it whole or not at all; the error names the flag.
Result<void> write_output(const std::string& path, const std::string& flag,
                          const std::function<void(std::ostream& out)>& produce);

// Progress of long work on standard error: a bar on a terminal, plain lines elsewhere. Quiet when
// standard error is not wanted for it.
class Progress {
 public:
  explicit Progress(std::int64_t total);
  void at(std::int64_t done, const std::string& note);
  ~Progress();

 private:
  std::int64_t total_;
  std::int64_t last_line_ = 0;
  bool is_terminal_;
  bool has_bar_ = false;
};

}  // namespace foreshard::cli
