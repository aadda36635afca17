#include "cli/common/open_trace.hpp"

#include "cli/common/progress.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::cli {

Result<traces::Trace> open_trace(const std::string& path, bool is_quiet) {
  ReadingProgress progress(path, is_quiet);
  traces::ImportOptions options;
  options.on_progress = [&](std::int64_t done, std::int64_t total) { progress.at(done, total); };
  return traces::read_trace(path, options);
}

}  // namespace foreshard::cli
