// foreshard inspect, export and fit: what is done with traces.
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/common/open_trace.hpp"
#include "cli/common/output.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/report/analysis_report.hpp"
#include "simulator/fit/fit.hpp"
#include "traces/export/chrome_export.hpp"
#include "traces/export/csv_export.hpp"

namespace foreshard::cli {
namespace {

constexpr const char* kTraceHelp =
    "trace (.fst), PyTorch profiler recording (JSON, or a folder with one of each rank), Nsight "
    "Systems export (SQLite) or CUDA memory snapshot";

class Inspect : public Command {
 public:
  CommandText text() const override {
    return {"inspect",
            "Recordings",
            "summarise where time and memory went",
            "Prints the breakdown of each rank's time, exposed collectives, the critical path, "
            "causes of idle time and the memory in use at its peak. Breakdown and overlap are "
            "defined as in Holistic Trace Analysis.",
            {"foreshard inspect run.fst"}};
  }
  void add_to(Options& options) override {
    options.input("TRACE", trace_, {"TRACE", kTraceHelp, true});
    options.quiet(is_quiet_);
    json_.add_to(options);
  }
  Result<int> run() override {
    if (auto ok = json_.check(); !ok) return tl::unexpected(ok.error());
    const auto trace = open_trace(trace_, is_quiet_);
    if (!trace) return tl::unexpected(trace.error());
    const profiler::Analysis analysis = profiler::analyse(*trace);
    return written(json_.answer(profiler::to_json(analysis), profiler::report_text(analysis)));
  }

 private:
  std::string trace_;
  bool is_quiet_ = false;
  JsonOutput json_;
};

class Export : public Command {
 public:
  CommandText text() const override {
    return {
        "export",
        "Recordings",
        "write a trace as Perfetto JSON or as CSV tables",
        "",
        {"foreshard export run.fst --perfetto run.json", "foreshard export run.fst --csv tables"}};
  }
  void add_to(Options& options) override {
    options.input("TRACE", trace_, {"TRACE", kTraceHelp, true});
    options.output("--perfetto", perfetto_,
                   {"FILE", "write Chrome trace JSON, for ui.perfetto.dev"});
    options.folder("--csv", csv_, {"DIR", "write a CSV file for each table into DIR"});
    options.quiet(is_quiet_);
  }
  Result<int> run() override {
    if (perfetto_.empty() == csv_.empty()) {
      return fail("", "export", "expected either --perfetto FILE or --csv DIR");
    }
    if (auto ok = check_output(perfetto_, "--perfetto"); !ok) return tl::unexpected(ok.error());
    const auto trace = open_trace(trace_, is_quiet_);
    if (!trace) return tl::unexpected(trace.error());
    return written(csv_.empty() ? traces::export_chrome(*trace, perfetto_)
                                : traces::export_csv(*trace, csv_));
  }

 private:
  std::string trace_, perfetto_, csv_;
  bool is_quiet_ = false;
};

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
        "fit a cost model to recordings of this machine",
        "The cost file makes `foreshard predict --costs` answer for other plans and models on "
        "the machine of the recordings. With --with, that of `foreshard calibrate` or an earlier "
        "one answers for what the recordings do not show.",
        {"foreshard fit run1.fst run2.fst -o costs.json --report",
         "foreshard fit run.fst --with calibrated.json -o costs.json"}};
  }
  void add_to(Options& options) override {
    options.inputs(
        "TRACE", traces_,
        {"TRACE", "recordings of one machine: traces (.fst) or PyTorch profiler recordings", true});
    options.input("--with", with_,
                  {"COSTS", "cost file of the same machine, for what the recordings do not show"});
    options.output("-o,--output", costs_, {"COSTS", "cost file to write (JSON)", true});
    options.flag("--report", report_, "print the fitted costs and their errors");
    options.quiet(is_quiet_);
  }
  Result<int> run() override;

 private:
  std::vector<std::string> traces_;
  std::string with_, costs_;
  bool report_ = false, is_quiet_ = false;
};

Result<int> Fit::run() {
  if (auto ok = check_output(costs_, "-o"); !ok) return tl::unexpected(ok.error());
  std::vector<std::unique_ptr<traces::Trace>> traces;
  std::vector<simulator::Recording> recordings;
  for (const std::string& path : traces_) {
    auto trace = open_trace(path, is_quiet_, recordings_with_shapes());
    if (!trace) return tl::unexpected(trace.error());
    traces.push_back(std::make_unique<traces::Trace>(std::move(*trace)));
    recordings.push_back({path, traces.back().get()});
  }
  std::optional<simulator::KnownCosts> known;
  if (!with_.empty()) {
    auto table = simulator::load_cost_table(with_);
    if (!table) return tl::unexpected(table.error());
    known = {with_, std::move(*table)};
  }
  const auto result = simulator::fit(recordings, known ? &*known : nullptr);
  if (!result) return tl::unexpected(result.error());
  const auto readable = simulator::check_cost_table(result->table, costs_);
  if (!readable) return tl::unexpected(readable.error());
  const auto saved = simulator::save_cost_table(result->table, costs_);
  for (const std::string& warning : result->warnings) warn(warning);
  if (!saved || !report_) return written(saved);
  return written(show(simulator::fit_report(result->table)));
}

}  // namespace

std::unique_ptr<Command> make_inspect() {
  return std::make_unique<Inspect>();
}
std::unique_ptr<Command> make_export() {
  return std::make_unique<Export>();
}
std::unique_ptr<Command> make_fit() {
  return std::make_unique<Fit>();
}

}  // namespace foreshard::cli
