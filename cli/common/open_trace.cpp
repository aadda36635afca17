#include "cli/common/open_trace.hpp"

#include <utility>

#include "cli/common/piped_recording.hpp"
#include "cli/common/progress.hpp"

namespace foreshard::cli {

namespace {

traces::ImportOptions shown_by(ReadingProgress& progress) {
  traces::ImportOptions options;
  options.on_progress = [&](std::int64_t done, std::int64_t total) { progress.at(done, total); };
  return options;
}

}  // namespace

Result<traces::Trace> open_trace(const std::string& path, bool is_quiet,
                                 const traces::AcceptedKinds& accepted) {
  ReadingProgress progress(path, is_quiet);
  auto trace = traces::read_trace(path, shown_by(progress), accepted);
  if (trace) name_files(*trace);
  return trace;
}

Result<std::vector<traces::RecordedRun>> open_runs(const std::string& path, bool is_quiet) {
  ReadingProgress progress(path, is_quiet);
  auto runs = traces::read_runs(path, shown_by(progress));
  if (!runs) return runs;
  for (traces::RecordedRun& run : *runs) {
    run.name = as_given(std::move(run.name));
    name_files(run.trace);
  }
  return runs;
}

void name_files(traces::Trace& trace) {
  const auto files = trace.metadata.find("files");
  if (files != trace.metadata.end()) files->second = as_given(std::move(files->second));
}

}  // namespace foreshard::cli
