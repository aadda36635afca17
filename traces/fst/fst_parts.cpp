// Runs of several processes, whose recordings are several files until they are joined.
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "traces/fst/fst_file.hpp"
#include "traces/fst/fst_reader.hpp"

namespace foreshard::traces {

namespace fs = std::filesystem;

std::string part_path(const std::string& path, int process) {
  return process == 0 ? path : path + ".rank" + std::to_string(process);
}

Result<Trace> read_fst(const std::string& path, const ImportOptions& options) {
  auto trace = read_fst_file(path, options);
  if (!trace) return trace;

  // A run of several processes that was killed has left its parts unmerged.
  const std::int64_t processes = integer(trace->metadata, "processes", 1);
  if (processes <= 1 || integer(trace->metadata, "process", 0) != 0) return trace;
  std::vector<Trace> parts;
  parts.push_back(std::move(*trace));
  std::int64_t missing = 0;
  for (int process = 1; process < std::min<std::int64_t>(processes, 1'000'000); ++process) {
    std::error_code ignored;
    if (!fs::exists(part_path(path, process), ignored)) {
      ++missing;
      continue;
    }
    auto part = read_fst(part_path(path, process), options);
    if (part) {
      parts.push_back(std::move(*part));
    } else {
      ++missing;
    }
  }
  if (options.stop.stop_requested()) return reading_stopped(path);
  Trace whole = merge(std::move(parts));
  if (missing > 0) {
    whole.dropped["processes without their part file"] += missing;
    whole.complete = false;
    whole.complete_until_ns = 0;
  }
  return whole;
}

Result<void> merge_parts(const std::string& path, int processes) {
  std::vector<Trace> parts;
  for (int process = 0; process < processes; ++process) {
    auto part = read_fst_file(part_path(path, process));
    if (!part) return tl::unexpected(part.error());
    parts.push_back(std::move(*part));
  }
  Trace whole = merge(std::move(parts));
  whole.metadata["processes"] = "1";
  if (auto written = write_fst(path, whole); !written) return written;
  for (int process = 1; process < processes; ++process) {
    std::error_code ignored;
    fs::remove(part_path(path, process), ignored);
  }
  return {};
}

}  // namespace foreshard::traces
