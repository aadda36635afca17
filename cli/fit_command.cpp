// foreshard fit: costs from recordings, and rates of a machine from runs whose throughput is known.
#include <cmath>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/common/open_trace.hpp"
#include "cli/common/output.hpp"
#include "cli/common/question_options.hpp"
#include "cli/observed_run.hpp"
#include "models/base/figures.hpp"
#include "models/question/question_json.hpp"
#include "models/question/question_text.hpp"
#include "simulator/fit/fit.hpp"
#include "simulator/fit/observed_runs.hpp"
#include "simulator/predict/prediction.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::cli {
namespace {

// Costs belong to operators of known shapes, which other kinds of recordings never contain.
const traces::AcceptedKinds& recordings_with_shapes() {
  using traces::RecordingKind;
  static const traces::AcceptedKinds kinds{
      {RecordingKind::fst, RecordingKind::perfetto_export, RecordingKind::kineto},
      "a trace (.fst) of `foreshard train`, or a recording of PyTorch's profiler with "
      "record_shapes"};
  return kinds;
}

class Fit : public Command {
 public:
  CommandText text() const override {
    return {
        "fit",
        "Training",
        "fit a cost model to recordings of a machine or to the throughput of runs",
        "With the cost file `foreshard predict --costs` predicts other plans and models on "
        "the machine of the recordings. With --with, that of `foreshard calibrate` or an earlier "
        "one covers what the recordings do not show. --observed needs no recording: the "
        "tokens per second of runs on a machine of the catalogue correct the catalogue's rates as "
        "far as they show them.",
        {"foreshard fit run1.fst run2.fst -o costs.json --report",
         "foreshard fit run.fst --with calibrated.json -o costs.json",
         "foreshard fit --model llama-3.1-8b --ranks 8 --machine h100-sxm --observed "
         "plan.toml=53000 -o costs.json",
         "foreshard fit --machine a100-sxm-80 --observed llama-3.1-8b@64x8:a.toml=2904/gpu "
         "--observed llama-2-70b@64x8:b.toml=353/gpu -o costs.json"}};
  }
  void add_to(Options& options) override {
    options.recordings(
        "TRACE", traces_,
        {"TRACE", "recordings of one machine: traces (.fst) or PyTorch profiler recordings"});
    options.input("--with", with_,
                  {"COSTS", "cost file of the same machine, for what the recordings do not show"});
    options.words("--observed", observed_,
                  {"[MODEL@RANKS[xNODES]:]PLAN=TOKENS_PER_S[/gpu]",
                   "throughput of a run of that plan, of all its ranks or of one GPU"});
    options.text("--model", runs_.said.model,
                 {"MODEL", "model of the observed runs that name none"}, ValueKind::model);
    options.whole_number("--ranks", runs_.said.ranks, {1, kMostRanks},
                         {"RANKS", "number of ranks of the observed runs that name none"});
    options.whole_number("--nodes", runs_.said.nodes, {1, kMostRanks},
                         {"NODES", "number of nodes of the observed runs that name no ranks", false,
                          "as many ranks per node as the machine holds"});
    options.machine(machine_, {"MACHINE", "machine of the observed runs, as for `predict`"});
    options.output("-o,--output", costs_, {"COSTS", "cost file to write (JSON)", true});
    options.flag("--report", report_, "print the fitted costs and their errors");
    options.quiet(is_quiet_);
  }
  Result<int> run() override;

 private:
  // `asked`: the questions of the recordings, a line each.
  Result<simulator::CostTable> fit_recordings(std::string& asked) const;
  Result<simulator::DeviceRates> fit_throughputs(const Machine& machine,
                                                 std::vector<std::string>& questions,
                                                 std::string& asked) const;

  static constexpr std::int64_t kMostRanks = 1'000'000;
  std::vector<std::string> traces_, observed_;
  std::string with_, costs_, machine_;
  QuestionOptions runs_;
  bool report_ = false, is_quiet_ = false;
};

Result<simulator::CostTable> Fit::fit_recordings(std::string& asked) const {
  std::vector<std::unique_ptr<traces::Trace>> traces;
  std::vector<simulator::Recording> recordings;
  for (const std::string& path : traces_) {
    auto trace = open_trace(path, is_quiet_, recordings_with_shapes());
    if (!trace) return tl::unexpected(trace.error());
    traces.push_back(std::make_unique<traces::Trace>(std::move(*trace)));
    recordings.push_back({path, traces.back().get()});
    const std::string line = traces::recorded_question_line(traces.back()->metadata) + "\n";
    if (asked.find(line) == std::string::npos) asked += line;
  }
  std::optional<simulator::KnownCosts> known;
  if (!with_.empty()) {
    auto table = simulator::load_cost_table(with_);
    if (!table) return tl::unexpected(table.error());
    known = {with_, std::move(*table)};
  }
  auto result = simulator::fit(recordings, known ? &*known : nullptr);
  if (!result) return tl::unexpected(result.error());
  for (const std::string& warning : result->warnings) warn(warning);
  return std::move(result->table);
}

// Figures that the rates explain only in part: of another machine or plan, or of one GPU.
void warn_of_surprises(const simulator::DeviceRates& rates) {
  constexpr double kExplained = 0.10;
  for (const simulator::ObservedStep& step : rates.observed) {
    if (std::abs(step.over_fitted() - 1) <= kExplained) continue;
    warn(step.plan + ": " + simulator::contradiction(step, rates.machine));
  }
}

// Whoever trained with such a plan had another one, or another machine.
void warn_where_memory_lacks(const simulator::ObservedRun& run, const Machine& machine) {
  simulator::PredictionOptions options;
  options.machine = &machine;
  options.wants_time = false;
  if (simulator::predict(run.job, options).fits) return;
  warn(run.plan + ": the run does not fit into the memory of " + machine.id +
       "; are the plan, the model and the ranks those of the run?");
}

Result<simulator::DeviceRates> Fit::fit_throughputs(const Machine& machine,
                                                    std::vector<std::string>& questions,
                                                    std::string& asked) const {
  std::vector<simulator::ObservedRun> runs;
  for (const std::string& text : observed_) {
    auto run = observed_run(text, runs_, machine_);
    if (!run) return tl::unexpected(run.error());
    warn_where_memory_lacks(*run, machine);
    questions.push_back(question_json(run->job));
    asked += question_line(run->job) + "\n";
    runs.push_back(std::move(*run));
  }
  auto rates = simulator::fit_observed(runs, machine, machine_);
  if (rates) warn_of_surprises(*rates);
  return rates;
}

Result<int> Fit::run() {
  if (auto ok = check_output(costs_, "-o"); !ok) return tl::unexpected(ok.error());
  if (traces_.empty() && observed_.empty()) {
    return fail("", "TRACE", "is missing; expected recordings, or --observed with --machine");
  }
  if (observed_.empty() != machine_.empty()) {
    return fail("", machine_.empty() ? "--machine" : "--observed",
                "is missing; expected both --observed and --machine, or neither");
  }
  simulator::CostTable table;
  std::string asked;  // what was recorded, a line each
  if (!traces_.empty()) {
    auto fitted = fit_recordings(asked);
    if (!fitted) return tl::unexpected(fitted.error());
    table = std::move(*fitted);
  }
  if (!observed_.empty()) {
    const auto machine = load_machine(machine_);
    if (!machine) return tl::unexpected(machine.error());
    if (!traces_.empty() && !table.is_accelerator) {
      return fail(traces_.front(), "",
                  "was recorded on a processor (" + table.machine_name +
                      "); expected recordings of accelerators with --observed");
    }
    std::vector<std::string> questions;
    if (!table.question.empty()) questions.push_back(table.question);
    auto rates = fit_throughputs(*machine, questions, asked);
    if (!rates) return tl::unexpected(rates.error());
    table.rates = std::move(*rates);
    table.question = merged_question_json(questions);
    if (traces_.empty()) {
      table.machine_name = machine->name;
      table.is_accelerator = true;
    }
  }
  const auto readable = simulator::check_cost_table(table, costs_);
  if (!readable) return tl::unexpected(readable.error());
  const auto saved = simulator::save_cost_table(table, costs_);
  if (!saved || !report_) return written(saved);
  return written(show(asked + (traces_.empty() ? "" : simulator::fit_report(table)) +
                      (table.rates ? simulator::observed_report(*table.rates) : "")));
}

}  // namespace

std::unique_ptr<Command> make_fit() {
  return std::make_unique<Fit>();
}

}  // namespace foreshard::cli
