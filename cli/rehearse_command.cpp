// foreshard rehearse: anybody's PyTorch script on a device that does nothing.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/common/options.hpp"
#include "cli/common/output.hpp"
#include "cli/rehearsal_answer.hpp"
#include "cli/rehearsal_job.hpp"
#include "cli/rehearsal_variants.hpp"
#include "cli/rehearsed_ranks.hpp"
#include "models/hardware/hardware.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kH100Memory = 85'520'809'984;  // as PyTorch reports it of the 80 GB part
constexpr double kMostLoss = 1e30;
constexpr const char* kRankZero = "0";

Result<void> check_routing(const std::string& law) {
  constexpr double kMostExponent = 10;
  constexpr std::string_view kZipf = "zipf:";
  if (law.empty() || law == "balanced") return {};
  if (law.starts_with(kZipf)) {
    const char *const begin = law.data() + kZipf.size(), *const end = law.data() + law.size();
    double exponent = 0;
    const auto [next, error] = std::from_chars(begin, end, exponent);
    if (error == std::errc() && next == end && exponent > 0 && exponent <= kMostExponent) return {};
  }
  return fail("", "--routing",
              "'" + law +
                  "' is not a law of routers; expected balanced, or zipf:A with A above 0 and "
                  "at most 10");
}

Result<void> check_data(const std::string& data) {
  constexpr std::string_view kColumns = "synthetic:";
  if (data == "real" || data == "synthetic") return {};
  const auto is_of_name = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == ',';
  };
  const std::string columns = data.starts_with(kColumns) ? data.substr(kColumns.size()) : "";
  const bool has_names = !columns.empty() && columns.front() != ',' && columns.back() != ',' &&
                         columns.find(",,") == std::string::npos;
  if (has_names && std::ranges::all_of(columns, is_of_name)) return {};
  return fail(
      "", "--data",
      "'" + data + "' is no kind of data; expected real, synthetic, or synthetic:COLUMN,...");
}

class Rehearse : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<void> check();
  Result<void> check_script(const std::vector<std::string>& command) const;
  RehearsalQuestion question_of(const Variant& variant) const;
  Result<int> run_variants(RehearsalJob& job) const;
  template <typename Answer>
  Result<int> finish(const Answer& answer) const;

  RehearsalQuestion question_;
  RankChoice choice_;
  std::string rank_ = kRankZero, real_ranks_;
  std::vector<std::string> vary_;
  std::vector<Variant> variants_;
  std::optional<Machine> machine_;
  std::optional<std::int64_t> device_memory_;
  std::string output_;
  JsonOutput json_;
};

Result<void> Rehearse::check_script(const std::vector<std::string>& command) const {
  if (command.size() < 2 || !command[1].ends_with(".py") || fs::exists(command[1])) return {};
  return fail(command[1], "", "is not there; expected a Python script");
}

Result<void> Rehearse::check() {
  question_.ranks = question_.asked_ranks.value_or(1);
  if (!real_ranks_.empty() && rank_ != kRankZero) {
    return fail("", "--real-ranks", "was given with --rank; expected one of them");
  }
  auto choice = RankChoice::read(rank_, real_ranks_);
  if (!choice) return tl::unexpected(choice.error());
  choice_ = std::move(*choice);
  if (question_.asked_ranks || !names_launcher(question_.command)) {
    if (auto ok = choice_.check(question_.ranks); !ok) return ok;
  }
  if (auto ok = check_routing(question_.routing); !ok) return ok;
  if (auto ok = check_data(question_.data); !ok) return ok;
  if (!question_.machine.empty()) {
    auto machine = load_machine(question_.machine);
    if (!machine) return tl::unexpected(machine.error());
    if (!machine->vendor.empty() && machine->vendor != "NVIDIA") {
      return fail("", "--machine",
                  question_.machine + " is of " + machine->vendor + "; expected GPUs of NVIDIA");
    }
    machine_ = std::move(*machine);
  }
  question_.device_memory =
      device_memory_.value_or(machine_ ? machine_->memory.count : kH100Memory);
  if (auto ok = check_trace_output(output_, "-o"); !ok) return ok;
  if (auto ok = json_.check(); !ok) return ok;
  if (vary_.empty()) return check_script(question_.command);
  auto variants = variants_of(vary_);
  if (!variants) return tl::unexpected(variants.error());
  variants_ = std::move(*variants);
  for (const Variant& variant : variants_) {
    if (auto ok = check_script(question_of(variant).command); !ok) return ok;
  }
  return {};
}

RehearsalQuestion Rehearse::question_of(const Variant& variant) const {
  RehearsalQuestion question = question_;
  question.environment = variant.environment;
  question.command.insert(question.command.end(), variant.words.begin(), variant.words.end());
  return question;
}

template <typename Answer>
Result<int> Rehearse::finish(const Answer& answer) const {
  if (auto ok = json_.write(answer.as_json()); !ok) return complain(ok.error(), kRunFailed);
  if (!json_.is_standard_output()) {
    if (auto ok = show(answer.text()); !ok) return complain(ok.error(), kRunFailed);
  }
  const std::string why = answer.ended_because();
  return why.empty() ? answer.status() : complain({"", "", why}, answer.status());
}

Result<int> Rehearse::run_variants(RehearsalJob& job) const {
  RehearsedVariants answers;
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    auto ranks = RehearsedRanks::run(job, question_of(variants_[i]), choice_);
    if (!ranks) return tl::unexpected(ranks.error());
    const std::string file = numbered_file(output_, i + 1);
    if (auto ok = traces::write_fst(file, ranks->trace()); !ok) {
      return complain(ok.error(), kRunFailed);
    }
    if (ranks->was_interrupted()) return ranks->status();
    answers.add({variants_[i], file, std::move(*ranks)});
  }
  return finish(answers);
}

Result<int> Rehearse::run() {
  if (auto ok = check(); !ok) return tl::unexpected(ok.error());
  auto job = RehearsalJob::make(
      output_, machine_,
      json_.is_standard_output() ? ChildOutput::standard_error : ChildOutput::its_own);
  if (!job) return tl::unexpected(job.error());
  if (!vary_.empty()) return run_variants(*job);
  const auto ranks = RehearsedRanks::run(*job, question_, choice_);
  if (!ranks) return tl::unexpected(ranks.error());
  if (auto ok = traces::write_fst(output_, ranks->trace()); !ok) {
    return complain(ok.error(), kRunFailed);
  }
  return finish(*ranks);
}

CommandText Rehearse::text() const {
  return {
      "rehearse",
      "Prediction",
      "run a PyTorch script without a GPU and report its memory to the byte",
      "Runs COMMAND, an unmodified script, on a device that computes nothing: the real PyTorch, "
      "its "
      "allocator and its FSDP run as one rank of a job whose other ranks do not exist. The result "
      "has PyTorch's own peaks of memory in each step, what was launched, and whether it fits. A "
      "step ends when the first optimizer has stepped; the script is ended after the last "
      "requested step.\n\n"
      "Nothing is computed: integers and booleans that come from the host are known, whatever else "
      "the script reads from the device is invented, and every such line is listed. With --ranks "
      "the script finds the variables that torchrun sets; behind torchrun, accelerate launch or "
      "deepspeed it finds that launcher's, which also says how many ranks there are. The exit "
      "status "
      "is COMMAND's, or 3 where memory ran out.",
      {"foreshard rehearse --ranks 8 -o run.fst -- python train.py",
       "foreshard rehearse --ranks 64 --rank 63 --machine h200 -o run.fst -- python train.py "
       "--size 70b",
       "foreshard rehearse --rank all-shapes -o run.fst -- torchrun --nproc_per_node 8 train.py",
       "foreshard rehearse --ranks 8 --real-ranks 0,4 -o run.fst -- python pipeline.py",
       "foreshard rehearse --vary '--reshard {true,false} --layers {2,4}' -o run.fst -- python "
       "train.py"}};
}

void Rehearse::add_to(Options& options) {
  options.whole_number(
      "--ranks", question_.asked_ranks, {1, RankChoice::kMostRanks},
      {"RANKS", "ranks of the job", false, "the launcher's, or 1 without torchrun's variables"});
  options.text("--rank", rank_,
               {"RANK", "the rank that runs, a list such as 0,3,7, or all-shapes: one of each kind",
                false, "0"});
  options.text("--real-ranks", real_ranks_,
               {"RANKS",
                "ranks that run at the same time and tell each other what only they know, such as "
                "0,4: stages of a pipeline, or senders of objects"});
  options.whole_number("--steps", question_.steps, {1, 1'000},
                       {"STEPS", "end after so many steps"});
  options.machine(question_.machine,
                  {"MACHINE", "what the devices are, as `foreshard list machines` prints it", false,
                   "an H100 of 80 GB"});
  options.size("--device-memory", device_memory_,
               {"SIZE", "memory of one device, such as 80GiB", false, "that of the machine"});
  options.number("--loss", question_.loss, kMostLoss,
                 {"VALUE", "what the script reads where a float is not known"});
  options.text("--routing", question_.routing,
               {"LAW", "experts that routers choose: balanced, or zipf:A with the exponent A",
                false, "as for other unknown values"});
  options.choice("--weights", question_.weights, {"real", "absent"},
                 {"WEIGHTS", "absent: from_pretrained needs a model's configuration only"});
  options.choice("--gpu-timing", question_.gpu_timing, {"ready", "late"},
                 {"TIMING",
                  "whether the GPU has finished the queued work when the host frees memory, or as "
                  "little of it as possible: the bounds of what record_stream holds back"});
  options.text(
      "--data", question_.data,
      {"DATA", "synthetic, or synthetic:COLUMN,...: load_dataset and tokenizers need no network",
       false, "real"});
  options.texts("--vary", vary_,
                {"WORDS", "more words of COMMAND, where {a,b} is each in turn; all are rehearsed"});
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
