// Ranks of a job on the null device: each is the user's command with the variables that load the device and its
// hooks, and leaves a record behind.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/child_process.hpp"
#include "cli/rehearsal_answer.hpp"
#include "models/base/error.hpp"
#include "models/hardware/hardware.hpp"

namespace foreshard::cli {

// torchrun, accelerate or deepspeed, by name or as a module: then the number of ranks is the launcher's, and so
// are the variables that a rank finds.
bool names_launcher(const std::vector<std::string>& command);

class RehearsalJob {
 public:
  // `output` is the trace beside which the records are kept for as long as this object lives.
  static Result<RehearsalJob> make(const std::string& output, std::optional<Machine> machine,
                                   ChildOutput child_output);

  // These ranks at the same time, which then hear of each other what only they know.
  Result<std::vector<RehearsalAnswer>> run(RehearsalQuestion question,
                                           const std::vector<int>& ranks);
  // Every rank that runs alone from now on hears what those before it have told, until this is called again.
  void begin_sequence();
  // An H100 where none was named.
  Result<Machine> machine() const { return machine_ ? *machine_ : load_machine("h100-sxm"); }

 private:
  RehearsalJob(ScratchFolder folder, std::optional<Machine> machine, ChildOutput child_output)
      : folder_(std::move(folder)), machine_(std::move(machine)), child_output_(child_output) {}

  // The null device's library, with links of the names by which programs look for it in `libraries` of the
  // folder.
  Result<std::string> device_library() const;
  // `folder`: for what the hooks leave behind.
  Result<Variables> variables(const RehearsalQuestion& question, const std::string& folder) const;
  void add_torchrun(const RehearsalQuestion& question, Variables& all) const;
  int devices(const RehearsalQuestion& question) const;

  ScratchFolder folder_;
  std::optional<Machine> machine_;
  ChildOutput child_output_;
  struct Sequence {
    std::string folder;  // of what was told; empty: nobody tells
    std::vector<int> ranks;
  };

  // `folder`: of this run.
  Variables meeting(const std::vector<int>& ranks, const std::string& folder) const;

  Sequence sequence_;
  int runs_ = 0;
};

}  // namespace foreshard::cli
