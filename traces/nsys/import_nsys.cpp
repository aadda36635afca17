#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "traces/import.hpp"
#include "traces/meaning/attribution.hpp"
#include "traces/metadata.hpp"
#include "traces/nsys/tables.hpp"

namespace foreshard::traces::nsys {
namespace {

// Metadata of an export: the tool, machines, devices, processes and threads, and problems that the
// tool reported.

constexpr std::int64_t kWarning = 2, kError = 3;  // ENUM_DIAGNOSTIC_SEVERITY_LEVEL
constexpr std::size_t kMaxDiagnostics = 200;
constexpr std::int64_t kFarthest = std::int64_t{1} << 61;
constexpr std::size_t kLongestText = 10'000;

std::string text(Import& in, const Source::Row& row, int column) {
  return std::string(in.names.text(row, column).substr(0, kLongestText));
}

void diagnostics(Import& in, std::int64_t first_ns, Metadata& metadata) {
  in.read.insert("DIAGNOSTIC_EVENT");
  std::string lines;
  std::size_t count = 0;
  in.source.each(
      "DIAGNOSTIC_EVENT", {"severity", "text", "timestamp"}, [&](const Source::Row& row) {
        const std::int64_t severity = row.integer(0);
        if (severity != kWarning && severity != kError) return;
        const std::string message = text(in, row, 1);
        if (message.find("lost") != std::string::npos ||
            message.find("dropped") != std::string::npos) {
          in.builder.drop("dropped records that Nsight Systems reports (see diagnostics)");
          in.builder.note_dropped(std::clamp(row.integer(2), -kFarthest, kFarthest) - first_ns);
        }
        if (++count > kMaxDiagnostics) return;
        lines += (severity == kError ? "error: " : "warning: ") + message + "\n";
      });
  if (count > kMaxDiagnostics) {
    lines += std::to_string(count - kMaxDiagnostics) + " more\n";
  }
  if (!lines.empty()) metadata["diagnostics"] = lines;
}

void devices(Import& in, Metadata& metadata) {
  std::map<std::int64_t, std::string> gpu_names;
  in.source.each("TARGET_INFO_GPU", {"id", "name"},
                 [&](const Source::Row& row) { gpu_names[row.integer(0)] = text(in, row, 1); });
  const std::vector<std::int64_t> gpus = gpus_of_ranks(in);
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    const auto name = gpu_names.find(gpus[rank]);
    if (name != gpu_names.end()) metadata["device." + std::to_string(rank)] = name->second;
  }
}

void processes(Import& in, Metadata& metadata) {
  std::map<std::int64_t, std::string> names;
  in.source.each("PROCESSES", {"globalPid", "name"}, [&](const Source::Row& row) {
    names[process_of(row.integer(0))] = text(in, row, 1);
  });
  std::string host;
  in.source.each("TARGET_INFO_SYSTEM_ENV", {"name", "value"}, [&](const Source::Row& row) {
    if (host.empty() && text(in, row, 0) == "Hostname") host = text(in, row, 1);
  });
  const auto& ranks = in.builder.ranks();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string number = std::to_string(rank);
    if (!host.empty()) metadata["host." + number] = host;
    if (ranks[rank].process == kNoProcess) continue;
    const auto name = names.find(ranks[rank].process);
    metadata["process." + number] =
        (name == names.end() ? "" : name->second + " ") + std::to_string(ranks[rank].process);
  }
}

void name_threads(Import& in) {
  in.source.each("ThreadNames", {"globalTid", "nameId"}, [&](const Source::Row& row) {
    const StringId name = in.names.of(row, 1);
    const std::int64_t global = row.integer(0);
    if (name != 0) in.builder.name_thread(process_of(global), thread_of(global), name);
  });
}

// After Builder::finish(), whose result is `first_ns`. Besides the keys of every import:
//   rank_is          what a rank is in this recording: a process, or one of a process's devices
//   process.R        name and number of the rank's process
//   diagnostics      warnings and errors of the tool, a line each
//   start_utc_ns     the moment times count from, where the file contains it
Metadata describe(Import& in, const std::string& path, std::int64_t first_ns) {
  Metadata metadata;
  metadata["source"] = "nsys";
  metadata["files"] = std::filesystem::path(path).filename().string();
  metadata["rank_is"] = in.builder.what_ranks_are();
  metadata["clock"] = "of the recording tool";
  metadata["cpu_model"] = "";
  metadata["cores"] = "0";
  metadata["threads_per_rank"] = "0";
  std::map<std::string, std::string> tool;
  for (const char* table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
    in.source.each(table, {"name", "value"},
                   [&](const Source::Row& row) { tool[text(in, row, 0)] = text(in, row, 1); });
  }
  metadata["versions"] = tool["EXPORT_PRODUCT_NAME"] + " " + tool["EXPORT_PRODUCT_VERSION"] +
                         ", schema " + tool["EXPORT_SCHEMA_VERSION"];
  in.source.each("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [&](const Source::Row& row) {
    constexpr std::int64_t kLatest = std::int64_t{1} << 62;  // the year 2116
    const std::int64_t start = row.integer(0);
    if (start > 0 && start < kLatest) {
      metadata["start_utc_ns"] = std::to_string(start + first_ns);
    }
  });
  diagnostics(in, first_ns, metadata);
  devices(in, metadata);
  processes(in, metadata);
  return metadata;
}

}  // namespace
}  // namespace foreshard::traces::nsys

namespace foreshard::traces {
namespace {

bool is_of_device_work(const nsys::Source& source, const std::string& table) {
  return source.has(table, "streamId") && source.has(table, "start") && source.has(table, "end");
}

// Rows of tables with times in them that Foreshard makes nothing of. Returns what the figures lack, empty
// where they lack nothing.
std::string count_the_rest(nsys::Import& in) {
  std::string missing;
  for (const std::string& table : in.source.tables()) {
    if (in.read.contains(table)) continue;
    if (!in.source.has(table, "start") && !in.source.has(table, "timestamp")) continue;
    std::int64_t rows = 0;
    in.source.each(table, {}, [&](const nsys::Source::Row&) { ++rows; });
    in.builder.drop("rows of unsupported table " + table, rows);
    if (rows == 0 || !is_of_device_work(in.source, table)) continue;
    missing += (missing.empty() ? "all figures lack the device work of " : ", ") + table;
  }
  return missing;
}

}  // namespace

Trace nsys::read_export(Source& source, const std::string& name) {
  Trace trace;
  StringTable names(source, trace.strings);
  Builder builder(trace);
  Import in{source, names, builder, {}};
  read_device_tables(in);
  read_host_tables(in);
  read_synchronization(in);
  read_nvtx(in);
  name_threads(in);
  const std::int64_t first = builder.finish();
  attribute(trace);
  read_gpu_metrics(in, first, trace);

  RunDescription run;
  run.ranks = std::max(1, static_cast<int>(builder.ranks().size()));
  run.more = describe(in, name, first);
  trace.metadata = run_metadata(run);
  if (const std::string missing = count_the_rest(in); !missing.empty()) {
    trace.metadata["not_recorded"] = missing;
  }
  builder.drop("names missing from the file", names.unknown());
  builder.drop("overlong names", names.too_long());

  for (const auto& [table, stretches] : source.damage()) {
    builder.drop("unreadable parts (damaged file) of " + table, stretches);
  }
  if (source.is_cut_short()) builder.drop("end of the file (truncated)");
  trace.complete = source.damage().empty() && !source.is_cut_short();
  for (const Event& e : trace.events) {
    trace.complete_until_ns = std::max(trace.complete_until_ns, e.end_ns);
  }
  // What is reported outside of all that was recorded is told of the whole, not of a moment.
  std::erase_if(trace.dropped_ranges, [&](const DroppedRange& range) {
    return range.start_ns < 0 || range.start_ns >= trace.complete_until_ns;
  });
  std::sort(trace.dropped_ranges.begin(), trace.dropped_ranges.end(),
            [](const DroppedRange& a, const DroppedRange& b) { return a.start_ns < b.start_ns; });
  if (!trace.complete) trace.complete_until_ns = 0;  // rows are in no order: any may be missing
  trace.metadata["complete"] = trace.complete ? "1" : "0";
  trace.metadata["complete_until_ns"] = std::to_string(trace.complete_until_ns);
  return trace;
}

Result<Trace> import_nsys(const std::string& path, const ImportOptions& options) {
  auto source = nsys::Source::open(path, options.stop);
  if (options.stop.stop_requested()) return reading_stopped(path);
  if (!source) return tl::unexpected(source.error());
  if (options.on_progress) source->report_to(options.on_progress);
  Trace trace = nsys::read_export(*source, path);
  if (options.stop.stop_requested()) return reading_stopped(path);
  return trace;
}

}  // namespace foreshard::traces
