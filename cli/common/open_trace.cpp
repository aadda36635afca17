#include "cli/common/open_trace.hpp"

#include "cli/common/progress.hpp"

namespace foreshard::cli {

Result<traces::Trace> open_trace(const std::string& path, bool is_quiet,
                                 const traces::AcceptedKinds& accepted) {
  ReadingProgress progress(path, is_quiet);
  traces::ImportOptions options;
  options.on_progress = [&](std::int64_t done, std::int64_t total) { progress.at(done, total); };
  return traces::read_trace(path, options, accepted);
}

}  // namespace foreshard::cli
