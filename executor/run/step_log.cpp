#include "executor/run/step_log.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "models/base/atomic_file.hpp"
#include "models/base/json_limits.hpp"
#include "models/base/json_text.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::executor {
namespace {

using nlohmann::ordered_json;

// The step of a line; nothing: it is no line of a log.
std::optional<std::int64_t> step_of(const std::string& line) {
  constexpr int kDeepest = 8;
  if (!json_excess(line, kDeepest).empty()) return std::nullopt;
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("step")) return std::nullopt;
  const auto& step = object["step"];
  return step.is_number_unsigned() ? std::optional(step.get<std::int64_t>()) : std::nullopt;
}

// How many bytes the lines up to a step are. Devices and pipes keep none.
Result<std::int64_t> kept_bytes(const std::string& path, std::int64_t last) {
  if (last == 0 || is_written_through(path)) return 0;
  std::ifstream file(path, std::ios::binary);
  std::int64_t bytes = 0, number = 1;
  for (std::string line; std::getline(file, line) && !file.eof(); ++number) {
    const auto step = step_of(line);
    if (!step) {
      return fail(path, "line " + std::to_string(number),
                  "is no step of a log; expected a file that --log has written, or a new name");
    }
    if (*step > last) break;
    bytes += std::ssize(line) + 1;
  }
  return bytes;
}

}  // namespace

Result<void> StepLog::check(const std::string& path, std::int64_t step) {
  const auto kept = kept_bytes(path, step);
  return kept ? Result<void>() : tl::unexpected(kept.error());
}

Result<StepLog> StepLog::open(const std::string& path, std::int64_t step) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return fail(path, "", "cannot be opened for writing: " + std::string(strerror(errno)));
  }
  StepLog log(path, descriptor);
  const auto kept = kept_bytes(path, step);
  if (!kept) return tl::unexpected(kept.error());
  if (!is_written_through(path) && ::ftruncate(descriptor, *kept) != 0) {
    return fail(path, "", "cannot be cut back: " + std::string(strerror(errno)));
  }
  return log;
}

StepLog::StepLog(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

StepLog::StepLog(StepLog&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

StepLog::~StepLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> StepLog::append(const std::string& line) const {
  // One call, so that a kill leaves whole lines.
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written == std::ssize(line)) return {};
  const std::string why = written < 0 ? strerror(errno) : "there is no room";
  return fail(path_, "", "cannot be written: " + why);
}

std::string step_line(const Job& job, const TrainingOptions& options, const StepReport& step,
                      const std::vector<RankPeaks>& ranks) {
  ordered_json out = {{"step", step.step},
                      {"loss", step.loss},
                      {"grad_norm", step.gradient_norm},
                      {"lr", learning_rate(job.plan.optimizer, step.step, options.total_steps)},
                      {"tokens", tokens_per_step(job)},
                      {"time_ns", (step.end - step.start).count()},
                      {"skipped", step.is_skipped},
                      {"ranks_memory", ordered_json::array()}};
  for (const RankPeaks& rank : ranks) {
    ordered_json entry = {{"rank", rank.rank}};
    add_peaks(entry, rank.peaks);
    out["ranks_memory"].push_back(std::move(entry));
  }
  return json_text(out) + "\n";
}

}  // namespace foreshard::executor
