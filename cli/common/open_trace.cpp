#include "cli/common/open_trace.hpp"

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
  return traces::read_trace(path, shown_by(progress), accepted);
}

Result<std::vector<traces::RecordedRun>> open_runs(const std::string& path, bool is_quiet) {
  ReadingProgress progress(path, is_quiet);
  return traces::read_runs(path, shown_by(progress));
}

}  // namespace foreshard::cli
