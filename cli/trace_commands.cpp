// foreshard inspect, compare, export and fit: what is done with traces.
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/comparison.hpp"
#include "profiler/report/analysis_report.hpp"
#include "profiler/report/comparison_report.hpp"
#include "simulator/fit/fit.hpp"
#include "traces/export/chrome_export.hpp"
#include "traces/export/csv_export.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::cli {
namespace {

struct Flags {
  std::vector<std::string> traces;
  std::string measured, predicted, perfetto, csv, costs;
  bool report = false;
  JsonOutput json;
} flags;

Result<int> inspect() {
  if (auto ok = flags.json.check(); !ok) return tl::unexpected(ok.error());
  const auto trace = traces::read_trace(flags.measured);
  if (!trace) return tl::unexpected(trace.error());
  const profiler::Analysis analysis = profiler::analyse(*trace);
  return written(flags.json.answer(profiler::to_json(analysis), profiler::report_text(analysis)));
}

Result<int> compare() {
  if (auto ok = flags.json.check(); !ok) return tl::unexpected(ok.error());
  const auto measured = traces::read_trace(flags.measured);
  if (!measured) return tl::unexpected(measured.error());
  const auto predicted = traces::read_trace(flags.predicted);
  if (!predicted) return tl::unexpected(predicted.error());
  const profiler::Comparison comparison = profiler::compare(*measured, *predicted);
  return written(
      flags.json.answer(profiler::to_json(comparison), profiler::report_text(comparison)));
}

Result<int> export_trace() {
  if (flags.perfetto.empty() == flags.csv.empty()) {
    return fail("", "export", "needs to know what to write; expected one of --perfetto and --csv");
  }
  if (auto ok = check_output(flags.perfetto, "--perfetto"); !ok) return tl::unexpected(ok.error());
  const auto trace = traces::read_trace(flags.measured);
  if (!trace) return tl::unexpected(trace.error());
  return written(flags.csv.empty() ? traces::export_chrome(*trace, flags.perfetto)
                                   : traces::export_csv(*trace, flags.csv));
}

Result<int> fit() {
  if (auto ok = check_output(flags.costs, "-o"); !ok) return tl::unexpected(ok.error());
  std::vector<std::unique_ptr<traces::Trace>> traces;
  std::vector<simulator::Recording> recordings;
  for (const std::string& path : flags.traces) {
    auto trace = traces::read_trace(path);
    if (!trace) return tl::unexpected(trace.error());
    traces.push_back(std::make_unique<traces::Trace>(std::move(*trace)));
    recordings.push_back({path, traces.back().get()});
  }
  const auto result = simulator::fit(recordings);
  if (!result) return tl::unexpected(result.error());
  const auto readable = simulator::check_cost_table(result->table, flags.costs);
  if (!readable) return tl::unexpected(readable.error());
  const auto saved = simulator::save_cost_table(result->table, flags.costs);
  for (const std::string& warning : result->warnings) warn(warning);
  if (!saved || !flags.report) return written(saved);
  return written(show(simulator::fit_report(result->table)));
}

}  // namespace

void add_inspect_flags(CLI::App& app) {
  app.add_option("trace", flags.measured, "trace to inspect")->required()->type_name("TRACE");
  flags.json.add_to(app);
}
int run_inspect() {
  return status_of(inspect());
}

void add_compare_flags(CLI::App& app) {
  app.add_option("measured", flags.measured, "recorded run")->required()->type_name("MEASURED");
  app.add_option("predicted", flags.predicted, "predicted run")->required()->type_name("PREDICTED");
  flags.json.add_to(app);
}
int run_compare() {
  return status_of(compare());
}

void add_export_flags(CLI::App& app) {
  app.add_option("trace", flags.measured, "trace to export")->required()->type_name("TRACE");
  app.add_option("--perfetto", flags.perfetto, "write Chrome trace JSON, for ui.perfetto.dev")
      ->type_name("F");
  app.add_option("--csv", flags.csv, "write tables into a folder")->type_name("DIR");
}
int run_export() {
  return status_of(export_trace());
}

void add_fit_flags(CLI::App& app) {
  app.add_option("traces", flags.traces, "recordings of this machine")
      ->required()
      ->type_name("TRACE");
  app.add_option("-o,--output", flags.costs, "cost file to write")->required()->type_name("F");
  app.add_flag("--report", flags.report, "print what was fitted, and how well it predicts");
}
int run_fit() {
  return status_of(fit());
}

}  // namespace foreshard::cli
