// foreshard profile: records what any program does with CUDA.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/child_process.hpp"
#include "cli/commands.hpp"
#include "cli/common/options.hpp"
#include "cli/common/output.hpp"
#include "cli/python_hooks.hpp"
#include "executor/communication/transport.hpp"
#include "models/base/error.hpp"
#include "models/base/figures.hpp"
#include "profiler/injection/activity_tables.hpp"
#include "profiler/record/cupti/activity_recorder.hpp"
#include "profiler/report/format.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/metadata.hpp"

namespace foreshard::cli {
namespace {

namespace fs = std::filesystem;

using profiler::RawActivities;

struct Recorded {
  std::vector<RawActivities> processes;  // by rank, where they have one, then by number
  std::vector<std::string> errors;
  std::set<std::string> missing;  // sentences on what of these processes is not recorded
};

Result<Recorded> read_recorded(const std::string& folder) {
  Recorded all;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".missing") {
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) all.missing.insert(line);
    } else if (entry.path().extension() == ".error") {
      std::ifstream file(entry.path());
      all.errors.emplace_back(std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>());
    } else if (entry.path().extension() == ".activities") {
      auto raw = profiler::read_raw_activities(entry.path().string());
      if (!raw) return tl::unexpected(raw.error());
      if (!raw->activities.empty()) all.processes.push_back(std::move(*raw));
    }
  }
  const auto number = [](const RawActivities& raw, const char* key) {
    const auto found = raw.header.find(key);
    return found == raw.header.end() ? INT64_MAX : std::atoll(found->second.c_str());
  };
  std::ranges::stable_sort(all.processes, {}, [&](const RawActivities& raw) {
    return std::pair(number(raw, "rank"), number(raw, "process"));
  });
  return all;
}

class Profile : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<Variables> variables(const std::string& folder) const;
  Result<void> write(const Recorded& recorded, const std::string& folder) const;

  std::string output_;
  std::vector<std::string> command_;
  bool marks_no_steps_ = false, is_quiet_ = false;
};

Result<Variables> Profile::variables(const std::string& folder) const {
  const std::string modules = fs::absolute(executor::module_directory()).string();
  const std::string library = modules + "/libforeshard_injection.so";
  std::error_code ignored;
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    const char* const other = std::getenv(name);
    if (other == nullptr || fs::path(other).filename() == fs::path(library).filename()) continue;
    warn(std::string(name) + " names " + other +
         ", which does not see COMMAND: this profiler takes its place");
  }
  const auto recorder = profiler::load_activity_recorder(modules);
  if (!recorder) return tl::unexpected(recorder.error());
  if (!fs::exists(library, ignored)) {
    return fail(library, "", "is not there; expected it next to libforeshard_cupti.so");
  }
  Variables all{{"CUDA_INJECTION64_PATH", library},
                {"NVTX_INJECTION64_PATH", library},
                {"FORESHARD_PROFILE", folder}};
  if (marks_no_steps_) return all;
  const auto python_path = python_path_with_hooks(modules);
  if (!python_path) return tl::unexpected(python_path.error());
  all["PYTHONPATH"] = *python_path;
  return all;
}

Result<void> Profile::write(const Recorded& recorded, const std::string& folder) const {
  auto trace = profiler::trace_of_activities(recorded.processes, folder + "/tables.sqlite");
  if (!trace) return tl::unexpected(trace.error());
  if (!recorded.missing.empty()) {
    const std::vector<std::string> missing(recorded.missing.begin(), recorded.missing.end());
    trace->metadata["not_recorded"] = profiler::join(missing, "; ");
  }
  std::string& command = trace->metadata["command"];
  for (const std::string& word : command_) command += (command.empty() ? "" : " ") + word;
  if (auto ok = traces::write_fst(output_, *trace); !ok) return ok;
  if (is_quiet_) return {};
  std::fprintf(stderr, "foreshard: recorded %s of %s; next: foreshard inspect %s\n",
               plural(std::ssize(trace->events), "event").c_str(),
               plural(traces::integer(trace->metadata, "ranks", 1), "rank").c_str(),
               output_.c_str());
  return {};
}

Result<int> Profile::run() {
  if (auto ok = check_trace_output(output_, "-o"); !ok) return tl::unexpected(ok.error());
  auto folder = ScratchFolder::beside(output_);
  if (!folder) return tl::unexpected(folder.error());
  const auto added = variables(folder->path());
  if (!added) return tl::unexpected(added.error());
  const auto status = run_child(command_, *added);
  if (!status) return status;
  const int of_failure = *status == kSuccess ? kRunFailed : *status;
  const auto recorded = read_recorded(folder->path());
  if (!recorded) return complain(recorded.error(), of_failure);
  for (const std::string& error : recorded->errors) warn("a process is not recorded: " + error);
  if (recorded->processes.empty()) {
    if (!recorded->errors.empty()) return of_failure;
    return complain({"", command_.front(),
                     "used no GPU, so nothing was recorded; expected a program that uses CUDA"},
                    of_failure);
  }
  for (const std::string& missing : recorded->missing) warn(missing);
  if (auto ok = write(*recorded, folder->path()); !ok) {
    return complain(ok.error(), of_failure);
  }
  return *status;
}

CommandText Profile::text() const {
  return {
      "profile",
      "Recordings",
      "record what a program does with CUDA as a trace (.fst)",
      "Runs COMMAND, and records kernels, copies, calls of CUDA and NVTX ranges of it and of all "
      "processes that it starts: ranks of torchrun, mpirun or srun become the trace's ranks. Of "
      "a process that crashes or is killed all but its last moments are kept. The exit status "
      "is COMMAND's.\n\n"
      "In Python programs that use PyTorch, each step is marked by an NVTX range (foreshard step "
      "3), from the end of one step of the first optimizer to the end of the next; the first step "
      "and the set-up before it have none. Steps that the program marks itself take precedence.\n\n"
      "CUDA serves one profiler at a time: COMMAND cannot use torch.profiler or Nsight "
      "meanwhile. What PyTorch's allocator holds is not visible from outside; for that, call "
      "torch.cuda.memory._record_memory_history() in the program, and import the snapshot that "
      "torch.cuda.memory._dump_snapshot() writes.",
      {"foreshard profile -o run.fst -- python train.py",
       "foreshard profile -o run.fst -- torchrun --nproc-per-node 8 train.py"}};
}

void Profile::add_to(Options& options) {
  options.output("-o,--output", output_, {"TRACE", "trace to write (.fst)", true});
  options.words("COMMAND", command_, {"COMMAND", "the program and its arguments, after --", true});
  options.flag("--no-steps", marks_no_steps_, "mark no steps in PyTorch programs");
  options.quiet(is_quiet_);
}

}  // namespace

std::unique_ptr<Command> make_profile() {
  return std::make_unique<Profile>();
}

}  // namespace foreshard::cli
