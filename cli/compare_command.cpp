// foreshard compare: two traces operator by operator, or two allocation histories event by event.
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "cli/commands.hpp"
#include "cli/common/open_trace.hpp"
#include "cli/common/output.hpp"
#include "cli/common/progress.hpp"
#include "profiler/analysis/comparison.hpp"
#include "profiler/replay/history_comparison.hpp"
#include "profiler/report/comparison_report.hpp"
#include "traces/open/recording_kind.hpp"
#include "traces/snapshot/history.hpp"
#include "traces/snapshot/history_snapshot.hpp"

namespace foreshard::cli {
namespace {

using traces::LabelledHistory;
using traces::RecordingKind;

constexpr const char* kComparable =
    "a trace (.fst), a PyTorch profiler recording (JSON, or a folder of them), an Nsight Systems "
    "export (SQLite), a CUDA memory snapshot (or a folder of them) or an allocation history "
    "(JSON lines)";

bool has_history(RecordingKind kind) {
  return kind == RecordingKind::event_list || kind == RecordingKind::snapshot;
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

class Compare : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<int> compare_traces() const;
  Result<int> compare_folders() const;
  Result<int> compare_histories(RecordingKind of_baseline, RecordingKind of_candidate) const;

  struct Side {
    LabelledHistory history;
    std::optional<traces::Trace> trace;  // of a snapshot
  };
  Result<Side> read_side(const std::string& file, RecordingKind kind) const;
  Result<Side> read_snapshot_side(const std::string& file) const;

  std::string baseline_, candidate_;
  bool is_quiet_ = false;
  JsonOutput json_;
};

Result<Compare::Side> Compare::read_snapshot_side(const std::string& file) const {
  ReadingProgress progress(file, is_quiet_);
  traces::ImportOptions options;
  options.on_progress = [&](std::int64_t done, std::int64_t total) { progress.at(done, total); };
  const auto snapshot = traces::read_snapshot(file, options);
  if (!snapshot) return tl::unexpected(snapshot.error());
  if (!snapshot->incomplete_reason.empty()) {
    warn(file + " is not complete: " + snapshot->incomplete_reason);
  }
  const std::optional<int> device = traces::busiest_device(*snapshot);
  if (!device) {
    return fail(file, "", "holds no segments and no events; expected a device's memory");
  }
  return Side{traces::labelled_history_of(*snapshot, *device),
              traces::import_snapshot(*snapshot, file, options)};
}

Result<Compare::Side> Compare::read_side(const std::string& file, RecordingKind kind) const {
  if (kind == RecordingKind::snapshot) return read_snapshot_side(file);
  auto history = traces::read_labelled_history(file);
  if (!history) return tl::unexpected(history.error());
  return Side{std::move(*history), {}};
}

Result<int> Compare::compare_histories(RecordingKind of_baseline,
                                       RecordingKind of_candidate) const {
  const auto baseline = read_side(baseline_, of_baseline);
  if (!baseline) return tl::unexpected(baseline.error());
  const auto candidate = read_side(candidate_, of_candidate);
  if (!candidate) return tl::unexpected(candidate.error());
  profiler::HistoryComparison comparison =
      profiler::compare_histories(baseline->history, candidate->history);
  if (baseline->trace && candidate->trace) {
    comparison.growth = profiler::memory_growth(*baseline->trace, *candidate->trace);
  }
  comparison.baseline.file = baseline_;
  comparison.candidate.file = candidate_;
  return written(json_.answer(profiler::to_json(comparison), profiler::report_text(comparison)));
}

// Folders of snapshots: each rank's with its own.
Result<int> Compare::compare_folders() const {
  const auto baseline = open_trace(baseline_, is_quiet_);
  if (!baseline) return tl::unexpected(baseline.error());
  const auto candidate = open_trace(candidate_, is_quiet_);
  if (!candidate) return tl::unexpected(candidate.error());
  const auto growth = profiler::memory_growth(*baseline, *candidate);
  if (growth.empty())
    return fail(candidate_, "", "has no rank of " + baseline_ + "; expected the same ranks");
  return written(json_.answer(profiler::to_json(growth), profiler::report_text(growth)));
}

Result<int> Compare::compare_traces() const {
  const auto baseline = open_trace(baseline_, is_quiet_);
  if (!baseline) return tl::unexpected(baseline.error());
  const auto candidate = open_trace(candidate_, is_quiet_);
  if (!candidate) return tl::unexpected(candidate.error());
  const profiler::Comparison comparison = profiler::compare(*baseline, *candidate);
  return written(json_.answer(profiler::to_json(comparison), profiler::report_text(comparison)));
}

Result<int> Compare::run() {
  if (auto ok = json_.check(); !ok) return tl::unexpected(ok.error());
  const auto of_baseline = traces::recording_kind(baseline_, kComparable);
  if (!of_baseline) return tl::unexpected(of_baseline.error());
  const auto of_candidate = traces::recording_kind(candidate_, kComparable);
  if (!of_candidate) return tl::unexpected(of_candidate.error());
  if (has_history(*of_baseline) && has_history(*of_candidate)) {
    const bool has_folder = is_folder(baseline_) || is_folder(candidate_);
    if (has_folder && *of_baseline == *of_candidate) return compare_folders();
    return compare_histories(*of_baseline, *of_candidate);
  }
  constexpr const char* kOther =
      "an allocation history or a CUDA memory snapshot, for the other file is an allocation "
      "history";
  if (*of_baseline == RecordingKind::event_list) {
    return traces::wrong_kind(candidate_, *of_candidate, kOther);
  }
  if (*of_candidate == RecordingKind::event_list) {
    return traces::wrong_kind(baseline_, *of_baseline, kOther);
  }
  return compare_traces();
}

CommandText Compare::text() const {
  return {
      "compare",
      "Recordings",
      "compare two traces or two allocation histories",
      "The first one is the baseline, such as a measured run or the run before a change; the "
      "second is the candidate, such as a prediction or the run after it.\n\n"
      "Traces are compared operator by operator. Allocation histories (JSON lines, CUDA "
      "memory snapshots) are compared event by event: how many requests and frees are "
      "equal from the start, the first difference and what surrounds it, the peaks of both, "
      "and which requests one has more often than the other. A snapshot that begins in the "
      "middle of a run is compared from the longest run of equal requests on.\n\n"
      "Of two snapshots, also what the candidate holds at its end and the baseline does not, by "
      "the stack that requested it, the most first: of two snapshots of one process some steps "
      "apart, where memory leaks. Folders with a snapshot of each rank are compared rank by "
      "rank, by that alone.",
      {"foreshard compare before.fst after.fst", "foreshard compare run.fst predicted.fst",
       "foreshard compare snapshot.pickle predicted.jsonl",
       "foreshard compare iteration_10 iteration_20"}};
}

void Compare::add_to(Options& options) {
  options.recording(
      "BASELINE", baseline_,
      {"BASELINE",
       "trace (.fst), PyTorch profiler recording (JSON, or a folder with one of each "
       "rank), Nsight Systems export (SQLite), CUDA memory snapshot (or a folder with one of each "
       "rank) or allocation history (JSON lines)",
       true});
  options.recording("CANDIDATE", candidate_, {"CANDIDATE", "another one", true});
  options.quiet(is_quiet_);
  json_.add_to(options);
}

}  // namespace

std::unique_ptr<Command> make_compare() {
  return std::make_unique<Compare>();
}

}  // namespace foreshard::cli
