#include "cli/common/question_options.hpp"

#include <utility>

#include "cli/common/cost_sources.hpp"
#include "cli/common/open_trace.hpp"
#include "cli/common/output.hpp"
#include "models/base/text_file.hpp"
#include "models/hardware/device_names.hpp"
#include "models/plan/plan_words.hpp"
#include "models/question/question_json.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::cli {
namespace {

constexpr std::int64_t kMaxRanks = 1'000'000;

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

// The machine and the operators of a cost file.
Result<RecordedBy> recorded_by(const simulator::CostTable& costs, Asked& asked) {
  RecordedBy recorded;
  if (costs.is_accelerator) recorded.machine = machine_reported_as(costs.machine_name);
  if (asked.machine.empty() && costs.rates) asked.machine = costs.rates->machine;
  if (!asked.machine.empty()) {
    const auto machine = load_machine(asked.machine);
    if (!machine) return tl::unexpected(machine.error());
    if (auto ok = check_costs_are_of(*machine, costs, asked.costs); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  recorded.operators = operators_in(costs.question);
  recorded.is_accelerator = costs.is_accelerator;
  return recorded;
}

Result<void> check_is_whole(const Asked& asked) {
  if (asked.model.empty() && !asked.config) {
    return fail("", "--model", "is missing; expected a model, or --question");
  }
  if (asked.ranks < 1) return fail("", "--ranks", "is missing; expected a number, or --question");
  return {};
}

}  // namespace

simulator::PredictionOptions AskedJob::prediction_options() const {
  simulator::PredictionOptions options;
  options.costs = costs ? &*costs : nullptr;
  options.machine = job.machine_id.empty() ? nullptr : &*job.machine;
  return options;
}

void QuestionOptions::add_job_to(Options& options, bool may_be_stored) {
  options.model(said.model, !may_be_stored);
  options.input("--plan", plan,
                {"PLAN",
                 "training plan (TOML), or a configuration of Accelerate, DeepSpeed, torchtitan, "
                 "transformers' Trainer, axolotl or LLaMA-Factory",
                 false, "each key's own default, see `foreshard plan --defaults`"});
  options.whole_number(
      "--ranks", said.ranks, {1, kMaxRanks},
      {"RANKS", "number of ranks", !may_be_stored, may_be_stored ? "those of --question" : ""});
  options.whole_number("--nodes", said.nodes, {1, kMaxRanks},
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
                     "ask again what a result (JSON) or a trace answers; other options change "
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

Result<AskedJob> QuestionOptions::load(const OwnDevice& own_device,
                                       const std::optional<ConvertedPlan>& otherwise) const {
  auto asked = this->asked(otherwise);
  if (!asked) return tl::unexpected(asked.error());
  std::optional<simulator::CostTable> costs;
  RecordedBy recorded;
  if (!asked->costs.empty()) {
    auto table = simulator::load_cost_table(asked->costs);
    if (!table) return tl::unexpected(table.error());
    costs = std::move(*table);
    auto by = recorded_by(*costs, *asked);
    if (!by) return tl::unexpected(by.error());
    recorded = std::move(*by);
  }
  auto asks = question_of(*asked, recorded, own_device);
  if (!asks) return tl::unexpected(asks.error());
  auto job = make_job(std::move(*asks), asked->plan_name());
  if (!job) return tl::unexpected(job.error());
  const std::vector<std::string> left_out = conversion_warnings(asked->plan);
  job->warnings.insert(job->warnings.begin(), left_out.begin(), left_out.end());
  return AskedJob{std::move(*job), std::move(costs)};
}

}  // namespace foreshard::cli
