#include "cli/rehearsal_job.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "cli/python_hooks.hpp"
#include "executor/communication/transport.hpp"
#include "models/base/figures.hpp"

namespace foreshard::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDeviceLibrary = "libforeshard_rehearsal.so";

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string record_in(const fs::path& folder) {
  return folder / "record.json";
}

std::string listed(const std::vector<int>& ranks) {
  std::string list;
  for (const int rank : ranks) list += (list.empty() ? "" : ",") + std::to_string(rank);
  return list;
}

// What libforeshard_rehearsal.so tells programs of its devices, in its own words.
std::string device_description(const Machine& machine) {
  std::string text = "name=" + machine.name;
  std::string capability = machine.compute_capability;
  std::erase(capability, '.');
  const auto add = [&text](const char* key, const std::string& value) {
    text += std::string(";") + key + "=" + value;
  };
  if (!capability.empty()) add("cc", capability);
  if (machine.multiprocessors > 0) add("sms", std::to_string(machine.multiprocessors));
  if (machine.l2_cache.count > 0) add("l2", std::to_string(machine.l2_cache.count));
  return text;
}

}  // namespace

bool names_launcher(const std::vector<std::string>& command) {
  static const std::vector<std::string> programs{"torchrun", "accelerate", "accelerate-launch",
                                                 "deepspeed"},
      modules{"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch",
              "accelerate.commands.accelerate_cli"};
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == "-m") return i + 1 < command.size() && is_one_of(modules, command[i + 1]);
    if (command[i].starts_with("-")) continue;
    if (is_one_of(programs, fs::path(command[i]).filename().string())) return true;
    if (i > 0) return false;  // the script
  }
  return false;
}

Result<RehearsalJob> RehearsalJob::make(const std::string& output, std::optional<Machine> machine,
                                        ChildOutput child_output) {
  auto folder = ScratchFolder::beside(output);
  if (!folder) return tl::unexpected(folder.error());
  return RehearsalJob(std::move(*folder), std::move(machine), child_output);
}

int RehearsalJob::devices(const RehearsalQuestion& question) const {
  constexpr std::int64_t kUsual = 8;
  const std::int64_t a_node = machine_ ? machine_->gpus_per_node : kUsual;
  // A launcher sees a whole node, and then says how much of it the ranks have.
  if (!question.asked_ranks && names_launcher(question.command)) return static_cast<int>(a_node);
  return static_cast<int>(std::min<std::int64_t>(question.ranks, a_node));
}

// What torchrun sets. Without --ranks the script runs as `python` alone runs it.
void RehearsalJob::add_torchrun(const RehearsalQuestion& question, Variables& all) const {
  if (!question.asked_ranks || names_launcher(question.command)) return;
  const int local = devices(question);
  const std::string nodes = std::to_string((question.ranks + local - 1) / local);
  const std::string node = std::to_string(question.rank / local);
  const std::string rank = std::to_string(question.rank), ranks = std::to_string(question.ranks);
  all.insert({{"RANK", rank},
              {"ROLE_RANK", rank},
              {"WORLD_SIZE", ranks},
              {"ROLE_WORLD_SIZE", ranks},
              {"LOCAL_RANK", std::to_string(question.rank % local)},
              {"LOCAL_WORLD_SIZE", std::to_string(local)},
              {"GROUP_RANK", node},
              {"GROUP_WORLD_SIZE", nodes},
              {"MASTER_ADDR", "localhost"},
              {"MASTER_PORT", "29500"},
              {"TORCHELASTIC_RUN_ID", "rehearsal"},
              {"TORCHELASTIC_RESTART_COUNT", "0"},
              {"TORCHELASTIC_MAX_RESTARTS", "0"}});
  if (std::getenv("OMP_NUM_THREADS") == nullptr) all["OMP_NUM_THREADS"] = "1";
}

Result<std::string> RehearsalJob::device_library() const {
  const fs::path library = fs::absolute(executor::module_directory()) / kDeviceLibrary;
  std::error_code failure;
  if (!fs::exists(library, failure)) {
    return fail(library.string(), "",
                "is not there; expected it next to the program, where a build puts it");
  }
  const fs::path names = fs::absolute(folder_.path()) / "libraries";
  fs::create_directory(names, failure);
  for (const char* name : {kDeviceLibrary, "libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1"}) {
    if (fs::exists(names / name, failure)) continue;
    fs::create_symlink(library, names / name, failure);
    if (failure) return fail((names / name).string(), "", "cannot be made: " + failure.message());
  }
  return library.string();
}

Result<Variables> RehearsalJob::variables(const RehearsalQuestion& question,
                                          const std::string& folder) const {
  const auto library = device_library();
  if (!library) return tl::unexpected(library.error());
  const std::string names = (fs::absolute(folder_.path()) / "libraries").string();
  const auto python_path =
      python_path_with_hooks(fs::absolute(executor::module_directory()).string());
  if (!python_path) return tl::unexpected(python_path.error());
  // The linker's list of libraries cannot hold a path with a space, but a name that it looks for.
  const bool has_space = library->find(' ') != std::string::npos;
  Variables all{{"LD_PRELOAD", in_front(has_space ? kDeviceLibrary : *library, "LD_PRELOAD")},
                {"LD_LIBRARY_PATH", in_front(names, "LD_LIBRARY_PATH")},
                {"PYTHONPATH", *python_path},
                {"FORESHARD_REHEARSAL_RECORD", record_in(folder)},
                {"FORESHARD_REHEARSAL_CAPTURE", folder},
                {"FORESHARD_REHEARSAL_STEPS", std::to_string(question.steps)},
                {"FORESHARD_REHEARSAL_RANK", std::to_string(question.rank)},
                {"FORESHARD_REHEARSAL_LOSS", formatted("%.17g", question.loss)},
                {"FORESHARD_REHEARSAL_DEVICES", std::to_string(devices(question))},
                {"FORESHARD_REHEARSAL_MEMORY", std::to_string(question.device_memory)}};
  if (machine_) all["FORESHARD_REHEARSAL_DEVICE"] = device_description(*machine_);
  if (std::getenv("TRITON_LIBCUDA_PATH") == nullptr) all["TRITON_LIBCUDA_PATH"] = names;
  if (question.asked_ranks) all["FORESHARD_REHEARSAL_RANKS"] = std::to_string(question.ranks);
  if (!question.routing.empty()) all["FORESHARD_REHEARSAL_ROUTING"] = question.routing;
  all["FORESHARD_REHEARSAL_WEIGHTS"] = question.weights;
  all["FORESHARD_REHEARSAL_DATA"] = question.data;
  all["FORESHARD_REHEARSAL_GPU_TIMING"] = question.gpu_timing;
  add_torchrun(question, all);
  for (const auto& [name, value] : question.environment) all[name] = value;
  return all;
}

void RehearsalJob::begin_sequence() {
  std::error_code ignored;
  sequence_ = {(fs::absolute(folder_.path()) / ("told" + std::to_string(++runs_))).string(), {}};
  fs::create_directory(sequence_.folder, ignored);
}

Variables RehearsalJob::meeting(const std::vector<int>& ranks, const std::string& folder) const {
  if (ranks.size() > 1) {
    return {{"FORESHARD_REHEARSAL_MEETING", folder},
            {"FORESHARD_REHEARSAL_REAL_RANKS", listed(ranks)}};
  }
  if (sequence_.folder.empty()) return {};
  return {{"FORESHARD_REHEARSAL_MEETING", sequence_.folder},
          {"FORESHARD_REHEARSAL_EARLIER_RANKS", listed(sequence_.ranks)}};
}

Result<std::vector<RehearsalAnswer>> RehearsalJob::run(RehearsalQuestion question,
                                                       const std::vector<int>& ranks) {
  // Without a folder the hooks leave no record, which is an error of its own.
  std::error_code ignored;
  const fs::path run = fs::absolute(folder_.path()) / std::to_string(++runs_);
  fs::create_directory(run, ignored);
  const auto folder_of = [&](int rank) { return run / ("rank" + std::to_string(rank)); };
  if (ranks.size() > 1) question.real_ranks = ranks;
  std::vector<Variables> each;
  for (const int rank : ranks) {
    fs::create_directory(folder_of(rank), ignored);
    question.rank = rank;
    auto added = variables(question, folder_of(rank));
    if (!added) return tl::unexpected(added.error());
    for (const auto& [name, value] : meeting(ranks, run)) (*added)[name] = value;
    each.push_back(std::move(*added));
  }
  const auto statuses = run_children(question.command, each, child_output_);
  if (!statuses) return tl::unexpected(statuses.error());
  std::vector<RehearsalAnswer> answers;
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    question.rank = ranks[n];
    auto answer = RehearsalAnswer::read(question, record_in(folder_of(ranks[n])), (*statuses)[n]);
    if (!answer) return tl::unexpected(answer.error());
    answer->read_program(folder_of(ranks[n]));
    answers.push_back(std::move(*answer));
  }
  fs::remove_all(run, ignored);
  if (ranks.size() == 1) sequence_.ranks.push_back(ranks.front());
  return answers;
}

}  // namespace foreshard::cli
