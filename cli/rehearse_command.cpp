// foreshard rehearse: anybody's PyTorch script on a device that does nothing.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/child_process.hpp"
#include "cli/commands.hpp"
#include "cli/common/options.hpp"
#include "cli/common/output.hpp"
#include "cli/rehearsal_answer.hpp"
#include "cli/rehearsal_step.hpp"
#include "executor/communication/transport.hpp"
#include "models/base/figures.hpp"
#include "models/hardware/hardware.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::cli {
namespace {

namespace fs = std::filesystem;

using Variables = std::map<std::string, std::string>;

constexpr int kMostRanks = 100'000;
constexpr std::int64_t kH100Memory = 85'520'809'984;  // as PyTorch reports it of the 80 GB part
constexpr double kMostLoss = 1e30;

// A list of folders or libraries with one more in front.
std::string in_front(const std::string& entry, const char* name) {
  const char* const present = std::getenv(name);
  return present == nullptr || *present == '\0' ? entry : entry + ":" + present;
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

class Rehearse : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<void> check();
  Result<void> check_script() const;
  Result<Variables> variables(const std::string& record) const;
  void add_launcher(Variables& all) const;
  std::int64_t devices() const;
  void add_step(RehearsalAnswer& answer, const std::string& folder) const;
  Result<void> write(const RehearsalAnswer& answer) const;

  RehearsalQuestion question_;
  std::optional<Machine> machine_;
  std::optional<int> ranks_;
  std::optional<std::int64_t> device_memory_;
  std::string output_;
  JsonOutput json_;
};

Result<void> Rehearse::check_script() const {
  const auto& command = question_.command;
  if (command.size() < 2 || !command[1].ends_with(".py") || fs::exists(command[1])) return {};
  return fail(command[1], "", "is not there; expected a Python script");
}

Result<void> Rehearse::check() {
  question_.ranks = ranks_.value_or(1);
  if (question_.rank >= question_.ranks) {
    return fail("", "--rank",
                std::to_string(question_.rank) + " is not a rank of the job; expected 0 to " +
                    std::to_string(question_.ranks - 1));
  }
  if (!question_.machine.empty()) {
    auto machine = load_machine(question_.machine);
    if (!machine) return tl::unexpected(machine.error());
    machine_ = std::move(*machine);
  }
  question_.device_memory =
      device_memory_.value_or(machine_ ? machine_->memory.count : kH100Memory);
  if (auto ok = check_trace_output(output_, "-o"); !ok) return ok;
  if (auto ok = json_.check(); !ok) return ok;
  return check_script();
}

std::int64_t Rehearse::devices() const {
  constexpr std::int64_t kUsual = 8;
  const std::int64_t a_node = machine_ ? machine_->gpus_per_node : kUsual;
  return std::min<std::int64_t>(question_.ranks, a_node);
}

// What torchrun sets. Without --ranks the script runs as `python` alone runs it.
void Rehearse::add_launcher(Variables& all) const {
  if (!ranks_) return;
  const std::int64_t local = devices();
  const std::string nodes = std::to_string((question_.ranks + local - 1) / local);
  const std::string node = std::to_string(question_.rank / local);
  const std::string rank = std::to_string(question_.rank), ranks = std::to_string(question_.ranks);
  all.insert({{"RANK", rank},
              {"ROLE_RANK", rank},
              {"WORLD_SIZE", ranks},
              {"ROLE_WORLD_SIZE", ranks},
              {"LOCAL_RANK", std::to_string(question_.rank % local)},
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

Result<Variables> Rehearse::variables(const std::string& record) const {
  const fs::path modules = fs::absolute(executor::module_directory());
  const std::string library = (modules / "libforeshard_rehearsal.so").string();
  const std::string beside = (modules / "rehearsal").string();
  const std::string hooks = (modules / "rehearsal" / "python").string();
  std::error_code ignored;
  if (!fs::exists(library, ignored)) {
    return fail(library, "", "is not there; expected it beside the program, where a build puts it");
  }
  if (!fs::exists(hooks, ignored)) {
    return fail(hooks, "", "is not there; expected it beside the program, where a build puts it");
  }
  Variables all{{"LD_PRELOAD", in_front(library, "LD_PRELOAD")},
                {"LD_LIBRARY_PATH", in_front(beside, "LD_LIBRARY_PATH")},
                {"PYTHONPATH", in_front(hooks, "PYTHONPATH")},
                {"FORESHARD_REHEARSAL_RECORD", record},
                {"FORESHARD_REHEARSAL_CAPTURE", fs::path(record).parent_path().string()},
                {"FORESHARD_REHEARSAL_STEPS", std::to_string(question_.steps)},
                {"FORESHARD_REHEARSAL_RANKS", std::to_string(question_.ranks)},
                {"FORESHARD_REHEARSAL_RANK", std::to_string(question_.rank)},
                {"FORESHARD_REHEARSAL_LOSS", formatted("%.17g", question_.loss)},
                {"FORESHARD_REHEARSAL_DEVICES", std::to_string(devices())},
                {"FORESHARD_REHEARSAL_MEMORY", std::to_string(question_.device_memory)}};
  if (machine_) all["FORESHARD_REHEARSAL_DEVICE"] = device_description(*machine_);
  if (std::getenv("TRITON_LIBCUDA_PATH") == nullptr) all["TRITON_LIBCUDA_PATH"] = beside;
  add_launcher(all);
  return all;
}

Result<void> Rehearse::write(const RehearsalAnswer& answer) const {
  if (auto ok = traces::write_fst(output_, answer.trace()); !ok) return ok;
  if (auto ok = json_.write(answer.as_json()); !ok) return ok;
  return json_.is_standard_output() ? Result<void>() : show(answer.text());
}

// The device is an H100 where no machine was named.
void Rehearse::add_step(RehearsalAnswer& answer, const std::string& folder) const {
  if (!answer.has_step()) return;
  const auto machine = machine_ ? *machine_ : load_machine("h100-sxm");
  auto step = machine ? rehearsed_step(folder, question_, *machine) : tl::unexpected(machine.error());
  if (!step) return answer.add_note("the last step has no program: " + step.error().text());
  answer.add_step(std::move(*step));
}

Result<int> Rehearse::run() {
  if (auto ok = check(); !ok) return tl::unexpected(ok.error());
  auto folder = ScratchFolder::beside(output_);
  if (!folder) return tl::unexpected(folder.error());
  const std::string record = fs::absolute(folder->path()) / "record.json";
  const auto added = variables(record);
  if (!added) return tl::unexpected(added.error());
  const auto output =
      json_.is_standard_output() ? ChildOutput::standard_error : ChildOutput::its_own;
  const auto status = run_child(question_.command, *added, output);
  if (!status) return status;
  auto answer = RehearsalAnswer::read(question_, record, *status);
  if (!answer) return tl::unexpected(answer.error());
  add_step(*answer, folder->path());
  if (auto ok = write(*answer); !ok) return complain(ok.error(), kRunFailed);
  if (!answer->ended_because().empty()) {
    return complain({"", "", answer->ended_because()}, kRunFailed);
  }
  return answer->is_out_of_memory() ? kOutOfMemory : *status;
}

CommandText Rehearse::text() const {
  return {
      "rehearse",
      "Prediction",
      "run a PyTorch script without a GPU and know its memory to the byte",
      "Runs COMMAND, an unmodified script, on a device that does nothing: the real PyTorch, its "
      "allocator and its FSDP run as one rank of a job whose other ranks do not exist. The answer "
      "has PyTorch's own peaks of memory in each step, what was launched, and whether it fits. A "
      "step ends when the first optimizer has stepped; after the last one that was asked for the "
      "script is ended.\n\n"
      "Nothing is computed: integers and booleans that come from the host are known, whatever else "
      "the script reads from the device is invented, and every such line is listed. With --ranks "
      "the "
      "script finds the variables that torchrun sets. The exit status is COMMAND's, or 3 where "
      "memory ran out.",
      {"foreshard rehearse --ranks 8 -o run.fst -- python train.py",
       "foreshard rehearse --ranks 64 --rank 63 --machine h200 -o run.fst -- python train.py "
       "--size "
       "70b"}};
}

void Rehearse::add_to(Options& options) {
  options.whole_number("--ranks", ranks_, {1, kMostRanks},
                       {"RANKS", "ranks of the job", false, "1, without torchrun's variables"});
  options.whole_number("--rank", question_.rank, {0, kMostRanks - 1},
                       {"RANK", "the rank that runs"});
  options.whole_number("--steps", question_.steps, {1, 1'000},
                       {"STEPS", "end after so many steps"});
  options.machine(question_.machine,
                  {"MACHINE", "what the devices are, as `foreshard list machines` prints it", false,
                   "an H100 of 80 GB"});
  options.size("--device-memory", device_memory_,
               {"SIZE", "memory of one device, such as 80GiB", false, "that of the machine"});
  options.number("--loss", question_.loss, kMostLoss,
                 {"VALUE", "what the script reads where a float is not known"});
  options.output("-o,--output", output_, {"TRACE", "trace to write (.fst)", true});
  json_.add_to(options);
  options.words("COMMAND", question_.command,
                {"COMMAND", "the interpreter, the script and its arguments, after --", true});
}

}  // namespace

std::unique_ptr<Command> make_rehearse() {
  return std::make_unique<Rehearse>();
}

}  // namespace foreshard::cli
