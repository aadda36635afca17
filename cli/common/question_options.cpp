#include "cli/common/question_options.hpp"

#include <utility>

#include "cli/common/open_trace.hpp"
#include "cli/common/output.hpp"
#include "models/base/text_file.hpp"
#include "models/plan/plan_words.hpp"
#include "models/question/question_json.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::cli {
namespace {

// Of a result, or of a trace.
Result<Asked> stored_question(const std::string& path) {
  constexpr Bytes kLargest{256 * kMiB.count};
  const auto kind = traces::recording_kind(path, "a result in JSON, or a trace");
  if (!kind) return tl::unexpected(kind.error());
  if (*kind == traces::RecordingKind::fst) {
    const auto trace = open_trace(path, true);
    if (!trace) return tl::unexpected(trace.error());
    return traces::recorded_question(trace->metadata, path);
  }
  const auto text = read_text_file(path, "a result in JSON, or a trace", kLargest);
  if (!text) return tl::unexpected(text.error());
  return parse_question(*text, path);
}

// What was said besides a stored question wins over it.
void overlay(Asked& asked, const Asked& said) {
  const bool moves = said.ranks > 0 || !said.machine.empty();
  if (moves || said.nodes) asked.nodes = said.nodes;
  if (said.ranks > 0) asked.ranks = said.ranks;
  if (!said.machine.empty()) asked.machine = said.machine;
  if (!said.device.empty()) asked.device = said.device;
  if (!said.costs.empty()) asked.costs = said.costs;
  if (said.is_deterministic) asked.is_deterministic = true;
  if (said.model.empty()) return;
  asked.model = said.model;
  asked.config.reset();
}

Result<void> check_is_whole(const Asked& asked) {
  if (asked.model.empty() && !asked.config) {
    return fail("", "--model", "is missing; expected a model, or --question");
  }
  if (asked.ranks < 1) return fail("", "--ranks", "is missing; expected a number, or --question");
  return {};
}

}  // namespace

void QuestionOptions::add_job_to(Options& options, bool may_be_stored) {
  options.model(said.model, !may_be_stored);
  options.input("--plan", plan,
                {"PLAN",
                 "training plan (TOML), or a configuration of Accelerate, DeepSpeed, torchtitan, "
                 "transformers' Trainer, axolotl or LLaMA-Factory",
                 false, "each key's own default, see `foreshard plan --defaults`"});
  options.whole_number(
      "--ranks", said.ranks, {1, kMostAskedRanks},
      {"RANKS", "number of ranks", !may_be_stored, may_be_stored ? "those of --question" : ""});
  options.whole_number("--nodes", said.nodes, {1, kMostAskedRanks},
                       {"NODES", "number of nodes that the ranks are spread over evenly", false,
                        "as many ranks per node as the machine holds"});
  options.flag("--deterministic", said.is_deterministic,
               "kernels whose results are the same bits in every run, also where they are slower: "
               "pytorch.deterministic = true in the plan");
}

void QuestionOptions::add_to(Options& options) {
  add_job_to(options, true);
  options.choice(
      "--operators", operators, {"foreshard", "pytorch-eager", "pytorch-compile"},
      {"OPERATORS", "what runs: PyTorch, or Foreshard's own operators", false,
       "the plan's; else PyTorch's on a machine with GPUs, Foreshard's without --machine"});
  options.machine(said.machine,
                  {"MACHINE",
                   "machine that `foreshard list machines` prints, or FILE.csv:ID for "
                   "one of your own"});
  options.recording("--question", question,
                    {"FILE",
                     "repeat the request of a result (JSON) or a trace; other options change "
                     "it"});
}

void QuestionOptions::add_device_to(Options& options) {
  options.choice("--device", said.device, {"cpu", "cuda"},
                 {"DEVICE", "device that Foreshard's own operators run on", false,
                  "cuda with a --machine that has GPUs, else cpu"});
}

void QuestionOptions::add_costs_to(Options& options) {
  options.input("--costs", said.costs, {"COSTS", "cost file that `foreshard fit` wrote"});
}

Result<Asked> QuestionOptions::asked(const std::optional<ConvertedPlan>& otherwise) const {
  Asked asked;
  if (!question.empty()) {
    auto stored = stored_question(question);
    if (!stored) return stored;
    asked = std::move(*stored);
  }
  overlay(asked, said);
  if (auto ok = check_is_whole(asked); !ok) return tl::unexpected(ok.error());
  if (!operators.empty()) asked.operators = operators_named(operators);
  if (plan.empty() && otherwise) asked.plan = *otherwise;
  if (plan.empty()) return asked;
  auto file = read_any_plan(plan, asked.ranks);
  if (!file) return tl::unexpected(file.error());
  if (file->is_foreign() && !is_quiet) note(plan + ": " + conversion_origin(*file));
  asked.plan = std::move(*file);
  return asked;
}

Result<simulator::AskedJob> QuestionOptions::load(
    const OwnDevice& own_device, const std::optional<ConvertedPlan>& otherwise) const {
  auto asked = this->asked(otherwise);
  if (!asked) return tl::unexpected(asked.error());
  return simulator::asked_job(std::move(*asked), own_device);
}

}  // namespace foreshard::cli
