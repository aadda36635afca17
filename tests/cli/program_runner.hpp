// Runs the built `foreshard` as a user's shell would, in a folder of its own whose name has a space
// and a letter outside ASCII, and reports what came of it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include "tests/temporary_folder.hpp"

namespace foreshard::cli_tests {

struct Outcome {
  int status = 0;  // as a shell reports it: 128 + signal when a signal ended the program
  std::string out, err;
};

// A folder that lives as long as the test: model/config.json, a Llama small enough for many ranks
// on few cores, and plan.toml, a plan for steps of milliseconds.
class Workplace {
 public:
  Workplace();

  std::filesystem::path path(const std::string& name) const { return folder_.path(name); }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;

  // The program's standard output and error, run in this folder; ended after a minute.
  Outcome run(const std::vector<std::string>& arguments,
              const std::map<std::string, std::string>& environment = {}) const;

  // The same in several processes under mpirun, each of them started by `wrapper`.
  Outcome run_processes(int processes, const std::vector<std::string>& arguments,
                        const std::vector<std::string>& wrapper = {}) const;

  // A line of the shell, which finds the program as "$FORESHARD".
  Outcome shell(const std::string& line) const;

  // One process for each environment, at the same time: all with the same arguments, or each with its
  // own.
  std::vector<Outcome> run_together(
      const std::vector<std::vector<std::string>>& arguments,
      const std::vector<std::map<std::string, std::string>>& environments) const;
  std::vector<Outcome> run_together(
      const std::vector<std::string>& arguments,
      const std::vector<std::map<std::string, std::string>>& environments) const;

  // `run` with `--json -`, expecting `status` and one JSON object on standard output.
  nlohmann::json run_json(std::vector<std::string> arguments, int status = 0) const;

  // Every file below the folder, by its relative path.
  std::vector<std::string> files() const;

 private:
  struct Started {
    pid_t child = 0;
    std::filesystem::path out, err;
  };
  Started start(const std::vector<std::string>& command,
                const std::map<std::string, std::string>& environment,
                const std::string& name) const;
  static Outcome finish(const Started& process);
  Outcome execute(const std::vector<std::string>& command,
                  const std::map<std::string, std::string>& environment) const;

  tests::TemporaryFolder folder_;
};

nlohmann::json small_llama();

// The flags every job of the small Llama takes.
std::vector<std::string> job(const std::string& command, int ranks,
                             const std::vector<std::string>& more = {});

}  // namespace foreshard::cli_tests
