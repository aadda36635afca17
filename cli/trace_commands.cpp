// foreshard inspect and export: what is done with traces.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/common/open_trace.hpp"
#include "cli/common/output.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/report/analysis_report.hpp"
#include "traces/export/chrome_export.hpp"
#include "traces/export/csv_export.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/meaning/selection.hpp"

namespace foreshard::cli {
namespace {

constexpr const char* kTraceHelp =
    "trace (.fst), PyTorch profiler recording (JSON, or a folder with one of each rank), Nsight "
    "Systems export (SQLite) or CUDA memory snapshot (or a folder with one of each rank); - is "
    "standard input";

class Inspect : public Command {
 public:
  CommandText text() const override {
    return {"inspect",
            "Recordings",
            "summarise where time and memory went",
            "Prints the breakdown of each rank's time, exposed collectives, the critical path, "
            "causes of idle time and the memory in use at its peak. Breakdown and overlap are "
            "defined as in Holistic Trace Analysis.",
            {"foreshard inspect run.fst", "foreshard inspect run.fst --rank 0-3 --step 5"}};
  }
  void add_to(Options& options) override {
    options.recordings(
        "TRACE", paths_,
        {"TRACE", std::string(kTraceHelp) + "; a folder of several runs is all of them", true});
    options.ranges("--rank", selection_.ranks,
                   {"RANKS", "these ranks alone, such as 3, 0,3 or 0-7", false, "all"});
    options.ranges("--step", selection_.steps,
                   {"STEPS", "these steps alone, as the report numbers them", false, "all"});
    options.moment("--from", selection_.from_ns,
                   {"TIME", "leave out what is before this time of the recording, such as 350ms",
                    false, "its beginning"});
    options.moment("--to", selection_.to_ns,
                   {"TIME", "leave out what is after this time", false, "its end"});
    options.quiet(is_quiet_);
    json_.add_to(options);
  }
  Result<int> run() override {
    if (auto ok = json_.check(); !ok) return tl::unexpected(ok.error());
    if (selection_.from_ns && selection_.to_ns && *selection_.from_ns >= *selection_.to_ns) {
      return fail("", "--to", "is not after --from; expected a later time");
    }
    std::vector<profiler::NamedAnalysis> recordings;
    for (const std::string& path : paths_) {
      auto runs = open_runs(path, is_quiet_);
      if (!runs) return tl::unexpected(runs.error());
      for (traces::RecordedRun& run : *runs) {
        const auto part = traces::part_of(std::move(run.trace), selection_, run.name);
        if (!part) return tl::unexpected(part.error());
        recordings.push_back({run.name, profiler::analyse(*part)});
      }
    }
    if (recordings.size() > 1) {
      return written(
          json_.answer(profiler::to_json(recordings), profiler::report_text(recordings)));
    }
    const profiler::Analysis& analysis = recordings.front().analysis;
    return written(json_.answer(profiler::to_json(analysis), profiler::report_text(analysis)));
  }

 private:
  std::vector<std::string> paths_;
  traces::Selection selection_;
  bool is_quiet_ = false;
  JsonOutput json_;
};

class Export : public Command {
 public:
  CommandText text() const override {
    return {
        "export",
        "Recordings",
        "write a trace as Perfetto JSON, CSV tables or a trace file",
        "",
        {"foreshard export run.fst --perfetto run.json", "foreshard export run.fst --csv tables",
         "foreshard export rank0.json.gz --fst run.fst"}};
  }
  void add_to(Options& options) override {
    options.recording("TRACE", trace_, {"TRACE", kTraceHelp, true});
    options.output("--perfetto", perfetto_,
                   {"FILE", "write Chrome trace JSON, for ui.perfetto.dev; - is standard output"});
    options.folder("--csv", csv_, {"DIR", "write a CSV file for each table into DIR"});
    options.output("--fst", fst_,
                   {"FILE", "write a trace (.fst) of this release, also of a run that was killed"});
    options.quiet(is_quiet_);
  }
  Result<int> run() override {
    if (!perfetto_.empty() + !csv_.empty() + !fst_.empty() != 1) {
      return fail("", "export", "expected one of --perfetto FILE, --csv DIR and --fst FILE");
    }
    if (auto ok = check_output(perfetto_, "--perfetto"); !ok) return tl::unexpected(ok.error());
    if (auto ok = check_trace_output(fst_, "--fst"); !ok) return tl::unexpected(ok.error());
    const auto trace = open_trace(trace_, is_quiet_);
    if (!trace) return tl::unexpected(trace.error());
    return written(!fst_.empty()   ? traces::write_fst(fst_, *trace)
                   : !csv_.empty() ? traces::export_csv(*trace, csv_)
                                   : traces::export_chrome(*trace, perfetto_));
  }

 private:
  std::string trace_, perfetto_, csv_, fst_;
  bool is_quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_inspect() {
  return std::make_unique<Inspect>();
}
std::unique_ptr<Command> make_export() {
  return std::make_unique<Export>();
}

}  // namespace foreshard::cli
