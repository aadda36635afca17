// foreshard import: recordings that others made become traces.
#include <filesystem>
#include <new>
#include <set>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
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

struct Flags {
  std::string source, output;
  std::vector<std::string> files;
  bool without_stacks = false;
  JsonOutput json;
} flags;

Result<std::vector<Trace>> read_recordings() {
  traces::ImportOptions options;
  options.keeps_stacks = !flags.without_stacks;
  const bool is_ours = flags.files.size() == 1 && traces::is_foreshard_export(flags.files[0]);
  if (flags.source == "kineto" && !is_ours) return traces::import_kineto(flags.files, options);
  if (flags.files.size() > 1) {
    return fail(flags.files[1], "",
                "is one file too many; expected one " + flags.source +
                    " file, which holds all its devices");
  }
  auto trace = flags.source == "nsys"       ? traces::import_nsys(flags.files[0], options)
               : flags.source == "snapshot" ? traces::import_snapshot(flags.files[0], options)
                                            : traces::read_chrome(flags.files[0]);
  if (!trace) return tl::unexpected(trace.error());
  std::vector<Trace> one;
  one.push_back(std::move(*trace));
  return one;
}

// Of several runs each has a file of its own: out.fst, out.2.fst, out.3.fst.
std::string output_of(std::size_t run) {
  if (run == 0) return flags.output;
  std::filesystem::path path(flags.output);
  return path.replace_extension("." + std::to_string(run + 1) + path.extension().string()).string();
}

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
  std::string text = summary.file + ": " + counted(summary.ranks, "rank");
  if (summary.events > 0) {
    text += ", " + counted(summary.events, "event") + " (" + std::to_string(summary.device_events) +
            " on devices)";
  }
  if (summary.memory_events > 0) text += ", " + counted(summary.memory_events, "memory event");
  text += "\n";
  if (!trace.complete) {
    text += "  " + profiler::incomplete_until(trace.complete_until_ns) + "\n";
  }
  const std::int64_t mapped = traces::integer(trace.metadata, "cost_keys_mapped", 0),
                     unmapped = traces::integer(trace.metadata, "cost_keys_unmapped", 0);
  if (mapped + unmapped > 0) {
    text += "  cost keys: " + std::to_string(mapped) + " of " +
            counted(mapped + unmapped, "event") + " that might have one\n";
  }
  std::string reasons;
  for (const auto& [reason, records] : trace.dropped) {
    if (records == 0) continue;
    reasons += (reasons.empty() ? "" : ", ") + reason + " (" + std::to_string(records) + ")";
  }
  if (!reasons.empty()) text += "  left out: " + reasons + "\n";
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

Result<void> write_traces(const std::vector<Trace>& runs) {
  ordered_json report = ordered_json::array();
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const Trace& trace = runs[run];
    const std::string file = output_of(run);
    if (auto done = traces::write_fst(file, trace); !done) return done;
    const Summary summary = summary_of(trace, file);
    if (!flags.json.is_standard_output()) {
      if (auto shown = show(text_of(summary, trace)); !shown) return shown;
    }
    report.push_back(json_of(summary, trace));
  }
  if (!flags.json.is_standard_output()) {
    if (auto shown = show("next: foreshard inspect " + flags.output + "\n"); !shown) return shown;
  }
  return flags.json.write(ordered_json{{"traces", std::move(report)}});
}

Result<int> import() {
  if (flags.source != "kineto" && flags.source != "nsys" && flags.source != "snapshot") {
    return fail(
        "", "import",
        "'" + flags.source + "' is no kind of recording; expected kineto, nsys or snapshot");
  }
  if (auto ok = check_trace_output(flags.output, "-o"); !ok) return tl::unexpected(ok.error());
  if (auto ok = flags.json.check(); !ok) return tl::unexpected(ok.error());
  const auto runs = read_recordings();
  if (!runs) return tl::unexpected(runs.error());
  return written(write_traces(*runs));
}

}  // namespace

void add_import_flags(CLI::App& app) {
  app.add_option("source", flags.source,
                 "kineto (torch.profiler), nsys (SQLite export) or snapshot")
      ->required()
      ->type_name("SOURCE");
  app.add_option("files", flags.files, "the recording: a file of each rank, or a folder of them")
      ->required()
      ->type_name("FILE");
  app.add_option("-o,--output", flags.output, "trace to write")->required()->type_name("out.fst");
  app.add_flag("--no-stacks", flags.without_stacks,
               "leave out stacks and functions of the program");
  flags.json.add_to(app);
}

int run_import() {
  try {
    return status_of(import());
  } catch (const std::bad_alloc&) {
    return complain(
        {flags.files[0], "",
         "takes more memory than there is; expected a smaller recording, or --no-stacks"});
  }
}

}  // namespace foreshard::cli
