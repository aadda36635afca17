// foreshard import: recordings that others made become traces.
#include <filesystem>
#include <new>
#include <set>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/common/open_trace.hpp"
#include "cli/common/output.hpp"
#include "cli/common/progress.hpp"
#include "models/base/figures.hpp"
#include "profiler/report/report_notes.hpp"
#include "traces/export/chrome_import.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/import.hpp"
#include "traces/metadata.hpp"

namespace foreshard::cli {
namespace {

using nlohmann::ordered_json;
using traces::Trace;

struct Summary {
  std::string file;
  std::int64_t ranks = 0, events = 0, device_events = 0, memory_events = 0;
};

Summary summary_of(const Trace& trace, const std::string& file) {
  Summary summary{file, 0, static_cast<std::int64_t>(trace.events.size()), 0,
                  static_cast<std::int64_t>(trace.memory.size())};
  std::set<std::int32_t> ranks;
  for (const traces::Lane& lane : trace.lanes) ranks.insert(lane.rank);
  for (const traces::MemoryEvent& e : trace.memory) ranks.insert(e.rank);
  summary.ranks = static_cast<std::int64_t>(ranks.size());
  for (const traces::Event& e : trace.events) summary.device_events += is_device_work(e.kind);
  return summary;
}

std::string text_of(const Summary& summary, const Trace& trace) {
  std::string text = summary.file + ": " + plural(summary.ranks, "rank");
  if (summary.events > 0) {
    text += ", " + plural(summary.events, "event") + " (" + std::to_string(summary.device_events) +
            " on devices)";
  }
  if (summary.memory_events > 0) text += ", " + plural(summary.memory_events, "memory event");
  text += "\n";
  if (!trace.complete) {
    text += "  " + profiler::incomplete_until(trace.complete_until_ns) + "\n";
  }
  const std::int64_t mapped = traces::integer(trace.metadata, "cost_keys_mapped", 0),
                     unmapped = traces::integer(trace.metadata, "cost_keys_unmapped", 0);
  if (mapped + unmapped > 0) {
    text += "  operator shapes recognised for " + std::to_string(mapped) + " of " +
            plural(mapped + unmapped, "event") + "\n";
  }
  std::string reasons;
  for (const auto& [reason, records] : trace.dropped) {
    if (records == 0) continue;
    reasons += (reasons.empty() ? "" : ", ") + reason + " (" + std::to_string(records) + ")";
  }
  if (!reasons.empty()) text += "  skipped: " + reasons + "\n";
  return text;
}

ordered_json json_of(const Summary& summary, const Trace& trace) {
  return {{"trace", summary.file},
          {"ranks", summary.ranks},
          {"events", summary.events},
          {"device_events", summary.device_events},
          {"memory_events", summary.memory_events},
          {"complete", trace.complete},
          {"dropped", trace.dropped}};
}

class Import : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<std::vector<Trace>> read_recordings() const;
  // Of several runs each has a file of its own: out.fst, out.2.fst, out.3.fst.
  std::string output_of(std::size_t run) const;
  Result<void> write_traces(const std::vector<Trace>& runs) const;

  std::string source_, output_;
  std::vector<std::string> files_;
  bool without_stacks_ = false, is_quiet_ = false;
  JsonOutput json_;
};

Result<std::vector<Trace>> Import::read_recordings() const {
  traces::ImportOptions options;
  options.keeps_stacks = !without_stacks_;
  ReadingProgress progress(files_[0], is_quiet_);
  options.on_progress = [&](std::int64_t done, std::int64_t total) { progress.at(done, total); };
  const bool is_ours = files_.size() == 1 && traces::is_foreshard_export(files_[0]);
  if (source_ == "kineto" && !is_ours) return traces::import_kineto(files_, options);
  if (files_.size() > 1) {
    return fail(
        files_[1], "",
        "is one file too many; expected one " + source_ + " file, which holds all its devices");
  }
  auto trace = source_ == "nsys"       ? traces::import_nsys(files_[0], options)
               : source_ == "snapshot" ? traces::import_snapshot(files_[0], options)
                                       : traces::read_chrome(files_[0]);
  if (!trace) return tl::unexpected(trace.error());
  std::vector<Trace> one;
  one.push_back(std::move(*trace));
  return one;
}

std::string Import::output_of(std::size_t run) const {
  if (run == 0) return output_;
  std::filesystem::path path(output_);
  return path.replace_extension("." + std::to_string(run + 1) + path.extension().string()).string();
}

Result<void> Import::write_traces(const std::vector<Trace>& runs) const {
  ordered_json report = ordered_json::array();
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const Trace& trace = runs[run];
    const std::string file = output_of(run);
    if (auto done = traces::write_fst(file, trace); !done) return done;
    const Summary summary = summary_of(trace, file);
    if (!json_.is_standard_output()) {
      if (auto shown = show(text_of(summary, trace)); !shown) return shown;
    }
    report.push_back(json_of(summary, trace));
  }
  if (!json_.is_standard_output() && !is_quiet_) {
    if (auto shown = show("next: foreshard inspect " + output_ + "\n"); !shown) return shown;
  }
  return json_.write(ordered_json{{"traces", std::move(report)}});
}

Result<int> Import::run() {
  if (auto ok = check_trace_output(output_, "-o"); !ok) return tl::unexpected(ok.error());
  if (auto ok = json_.check(); !ok) return tl::unexpected(ok.error());
  try {
    auto runs = read_recordings();
    if (!runs) return tl::unexpected(runs.error());
    for (Trace& run : *runs) name_files(run);
    return written(write_traces(*runs));
  } catch (const std::bad_alloc&) {
    return fail(files_[0], "",
                "does not fit into memory; expected a smaller recording, or --no-stacks");
  }
}

CommandText Import::text() const {
  return {"import",
          "Recordings",
          "write a recording of another profiler as a trace (.fst)",
          "inspect, compare, query and export open such recordings directly, replay those of "
          "allocators; a trace is smaller and opens faster. Truncated files are read up to the "
          "truncation; skipped "
          "records are counted and reported.",
          {"foreshard import kineto trace_folder -o run.fst",
           "foreshard import nsys report.sqlite -o run.fst",
           "foreshard import snapshot rank0_memory_snapshot.pickle -o memory.fst"}};
}

void Import::add_to(Options& options) {
  options.choice("SOURCE", source_, {"kineto", "nsys", "snapshot"},
                 {"SOURCE",
                  "torch.profiler (Kineto JSON), an Nsight Systems export (nsys export --type "
                  "sqlite), or a CUDA memory snapshot",
                  true});
  options.recordings(
      "FILE", files_,
      {"FILE", "the recording: one file; for kineto also a file per rank, or a folder of them",
       true});
  options.output("-o,--output", output_, {"TRACE", "trace to write (.fst)", true});
  options.flag("--no-stacks", without_stacks_, "drop Python stacks and python_function events");
  options.quiet(is_quiet_);
  json_.add_to(options);
}

}  // namespace

std::unique_ptr<Command> make_import() {
  return std::make_unique<Import>();
}

}  // namespace foreshard::cli
