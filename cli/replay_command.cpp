// foreshard replay: a recorded allocation history through the allocator, as it was or under other
// settings.
#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "cli/commands.hpp"
#include "cli/common/open_trace.hpp"
#include "cli/common/output.hpp"
#include "cli/common/progress.hpp"
#include "models/allocator/allocator_settings.hpp"
#include "profiler/replay/replay_report.hpp"
#include "profiler/report/format.hpp"
#include "traces/allocator/trace_history.hpp"
#include "traces/open/recording_kind.hpp"
#include "traces/snapshot/history.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::cli {
namespace {

using namespace profiler;
using traces::AllocatorHistory;
using traces::ReplayOptions;

constexpr const char* kExpected =
    "a CUDA memory snapshot (pickle), an allocation history (JSON lines) or a trace of "
    "foreshard (.fst)";
constexpr const char* kOfAProfiler =
    "; profilers do not record the allocator's history, torch.cuda.memory._dump_snapshot does";

// What is known without any replay.
void describe(const Recording& recording, ReplayAnswer& answer) {
  const auto& events = recording.history.events;
  answer.events = events.size();
  answer.recorded = traces::recorded_figures(recording.history);
  answer.contents = recording.contents;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool is_failure = events[i].action == traces::AllocatorAction::oom;
    if (is_failure && !answer.recorded_failure) answer.recorded_failure = i;
    if (is_failure || events[i].action == traces::AllocatorAction::alloc) {
      answer.ends_with_failure = is_failure;
    }
  }
}

ReplayOptions recorded_options(const AllocatorHistory& history) {
  ReplayOptions options;
  if (history.capacity) options.capacity = *history.capacity;
  return options;
}

void report_idle(const std::string& settings, const IdleSettings& idle, bool is_quiet) {
  if (!idle.not_simulated.empty()) {
    warn(settings +
         ": not simulated, as if it were not set: " + profiler::join(idle.not_simulated, ", "));
  }
  if (!idle.without_effect.empty() && !is_quiet) {
    note(settings +
         ": without effect on device memory: " + profiler::join(idle.without_effect, ", "));
  }
}

Result<void> replay_and_explain(const Recording& recording, const ReplayOptions& options,
                                ReplayAnswer& answer) {
  const AllocatorHistory& history = recording.history;
  auto recorded_replay = traces::replay(history, recorded_options(history));
  if (!recorded_replay) return tl::unexpected(recorded_replay.error());
  answer.recorded_replay = std::move(*recorded_replay);
  auto result = traces::replay(history, options);
  if (!result) return tl::unexpected(result.error());
  answer.result = std::move(*result);
  answer.outcome = outcome_of(answer.result, answer.capacity);
  const auto at_peak = fragmentation_after(history, options, answer.result.peak_event);
  if (!at_peak) return tl::unexpected(at_peak.error());
  answer.at_peak = *at_peak;
  if (!answer.outcome.failed_at) return {};
  const auto at_failure = fragmentation_after(history, options, *answer.outcome.failed_at);
  if (!at_failure) return tl::unexpected(at_failure.error());
  answer.at_failure = *at_failure;
  auto found = what_ifs(recording, options, answer.settings);
  if (!found) return tl::unexpected(found.error());
  answer.what_ifs = std::move(*found);
  return {};
}

class Replay : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<int> answer() const;
  Result<Recording> read_recording(ReplayAnswer& answer) const;
  Result<Recording> read_event_list() const;
  Result<Recording> read_snapshot_history(ReplayAnswer& answer) const;
  Result<Recording> read_trace_history(ReplayAnswer& answer) const;
  // The device that --device names, or the heaviest one.
  Result<int> chosen(const std::vector<int>& devices,
                     const std::function<std::pair<bool, std::size_t>(int)>& weight_of) const;
  Result<ReplayOptions> options_for(const AllocatorHistory& history, ReplayAnswer& answer) const;
  Result<void> write_decisions(const traces::ReplayResult& result) const;

  std::string history_, allocator_, decisions_;
  std::optional<std::int64_t> capacity_;
  std::optional<int> device_;
  bool is_quiet_ = false;
  JsonOutput json_;
};

Result<int> Replay::chosen(
    const std::vector<int>& devices,
    const std::function<std::pair<bool, std::size_t>(int)>& weight_of) const {
  if (!device_) {
    return *std::max_element(devices.begin(), devices.end(),
                             [&](int a, int b) { return weight_of(a) < weight_of(b); });
  }
  if (std::find(devices.begin(), devices.end(), *device_) != devices.end()) return *device_;
  std::string known;
  for (const int each : devices) known += (known.empty() ? "" : ", ") + std::to_string(each);
  return fail(history_, "--device",
              "has nothing of device " + std::to_string(*device_) + "; expected one of " + known);
}

Result<Recording> Replay::read_snapshot_history(ReplayAnswer& answer) const {
  ReadingProgress progress(history_, is_quiet_);
  traces::ImportOptions options;
  options.on_progress = [&](std::int64_t done, std::int64_t total) { progress.at(done, total); };
  const auto snapshot = traces::read_snapshot(history_, options);
  if (!snapshot) return tl::unexpected(snapshot.error());
  answer.devices = traces::recorded_devices(*snapshot);
  if (answer.devices.empty()) {
    return fail(history_, "",
                "holds no segments and no events" +
                    (snapshot->incomplete_reason.empty()
                         ? ""
                         : " before its damage (" + snapshot->incomplete_reason + ")") +
                    "; expected a device's memory");
  }
  const auto chosen_device =
      chosen(answer.devices, [&](int device) { return traces::device_weight(*snapshot, device); });
  if (!chosen_device) return tl::unexpected(chosen_device.error());
  const int device = *chosen_device;
  traces::SnapshotHistory found = traces::history_of(*snapshot, device);
  answer.device = device;
  answer.incomplete_reason = snapshot->incomplete_reason;
  answer.inconsistent_events = found.misfits;
  answer.skipped_events = found.left_out;
  IdleSettings idle;
  if (!parse_allocator_settings(snapshot->settings, {}, "", &idle)) {
    warn(history_ + ": recorded with settings of which not all are known: " + snapshot->settings);
  }
  report_idle(history_, {{}, idle.not_simulated}, is_quiet_);
  Recording recording;
  recording.history = std::move(found.history);
  recording.trace = traces::import_snapshot(*snapshot, history_, {.keeps_stacks = false});
  recording.contents = memory_holders(*recording.trace, device);
  recording.device = device;
  return recording;
}

Result<Recording> Replay::read_event_list() const {
  if (device_) {
    return fail(
        history_, "--device",
        "is an allocation history of one device; expected --device with a snapshot or a trace");
  }
  auto history = traces::read_allocator_history(history_);
  if (!history) return tl::unexpected(history.error());
  Recording recording;
  recording.history = std::move(*history);
  return recording;
}

Result<Recording> Replay::read_trace_history(ReplayAnswer& answer) const {
  auto trace = open_trace(history_, is_quiet_);
  if (!trace) return tl::unexpected(trace.error());
  answer.devices = traces::ranks_with_memory(*trace);
  if (answer.devices.empty()) {
    return fail(history_, "", "holds no events of device memory; expected some to replay");
  }
  const auto device = chosen(answer.devices, [&](int rank) {
    const auto is_of_rank = [rank](const auto& e) { return !e.on_host && e.rank == rank; };
    return std::pair(std::any_of(trace->memory.begin(), trace->memory.end(),
                                 [&](const auto& e) {
                                   return is_of_rank(e) &&
                                          e.action == traces::MemoryAction::out_of_memory;
                                 }),
                     static_cast<std::size_t>(
                         std::count_if(trace->memory.begin(), trace->memory.end(), is_of_rank)));
  });
  if (!device) return tl::unexpected(device.error());
  auto history = traces::history_of(*trace, *device, history_);
  if (!history) return tl::unexpected(history.error());
  answer.device = *device;
  Recording recording;
  recording.history = std::move(*history);
  recording.device = *device;
  return recording;
}

Result<Recording> Replay::read_recording(ReplayAnswer& answer) const {
  const auto kind = traces::recording_kind(history_, kExpected);
  if (!kind) return tl::unexpected(kind.error());
  switch (*kind) {
    case traces::RecordingKind::event_list: return read_event_list();
    case traces::RecordingKind::snapshot: return read_snapshot_history(answer);
    case traces::RecordingKind::fst:
    case traces::RecordingKind::perfetto_export: return read_trace_history(answer);
    case traces::RecordingKind::kineto:
    case traces::RecordingKind::nsys:
      return traces::wrong_kind(history_, *kind, std::string(kExpected) + kOfAProfiler);
    default: return traces::wrong_kind(history_, *kind, kExpected);
  }
}

Result<ReplayOptions> Replay::options_for(const AllocatorHistory& history,
                                          ReplayAnswer& answer) const {
  ReplayOptions options = recorded_options(history);
  answer.capacity = history.capacity;
  if (capacity_) {
    answer.has_other_device = history.capacity != capacity_;
    // A larger device would not have refused.
    options.honor_recorded_oom = !history.capacity || *capacity_ <= *history.capacity;
    options.capacity = *capacity_;
    answer.capacity = capacity_;
  }
  if (!allocator_.empty()) {
    IdleSettings idle;
    const auto rules = parse_allocator_settings(allocator_, history.rules, "--allocator", &idle);
    if (!rules) return tl::unexpected(rules.error());
    report_idle("--allocator", idle, is_quiet_);
    options.rules = *rules;
    options.honor_recorded_oom = false;
    answer.settings = allocator_;
  }
  return options;
}

Result<void> Replay::write_decisions(const traces::ReplayResult& result) const {
  if (decisions_.empty()) return {};
  return write_output(decisions_, "--decisions",
                      [&](std::ostream& out) { out << decisions_text(result); });
}

Result<int> Replay::answer() const {
  if (auto ok = json_.check(); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_output(decisions_, "--decisions"); !ok) {
    return tl::unexpected(ok.error());
  }
  ReplayAnswer answer;
  answer.history = history_;
  const auto recording = read_recording(answer);
  if (!recording) return tl::unexpected(recording.error());
  describe(*recording, answer);
  const auto options = options_for(recording->history, answer);
  if (!options) return tl::unexpected(options.error());
  if (auto done = replay_and_explain(*recording, *options, answer); !done) {
    if (done.error().file.empty()) done.error().file = history_;
    return tl::unexpected(done.error());
  }
  if (auto ok = write_decisions(answer.result); !ok) return written(ok);
  return written(json_.answer(to_json(answer), replay_text(answer)));
}

Result<int> Replay::run() {
  try {
    return answer();
  } catch (const std::bad_alloc&) {
    return fail(history_, "", "does not fit into memory; expected a smaller recording");
  }
}

CommandText Replay::text() const {
  return {
      "replay",
      "Recordings",
      "replay an allocation history under other allocator settings",
      "The recorded requests are served again by PyTorch's caching allocator, as it was set "
      "when it was recorded or with --allocator and --device-memory. The report shows whether the "
      "replay reproduces the recording, what used the memory when it ran out, and which "
      "settings would have avoided that.",
      {"foreshard replay rank0_memory_snapshot.pickle",
       "foreshard replay rank0_memory_snapshot.pickle --allocator expandable_segments=true "
       "--device-memory 40GiB"}};
}

void Replay::add_to(Options& options) {
  options.recording("HISTORY", history_,
                    {"HISTORY",
                     "CUDA memory snapshot (pickle), allocation history (JSON lines), plain or "
                     "gzip, or trace (.fst)",
                     true});
  options.whole_number("--device", device_, {0, 1'000'000},
                       {"DEVICE", "device of a snapshot, rank of a trace", false,
                        "the one that ran out of memory, or has most events"});
  options.text(
      "--allocator", allocator_,
      {"KEY=VALUE,...",
       "settings as in PYTORCH_CUDA_ALLOC_CONF: expandable_segments, max_split_size_mb, "
       "roundup_power2_divisions, garbage_collection_threshold, max_non_split_rounding_mb, "
       "per_process_memory_fraction; those without effect are named",
       false, "as recorded"});
  options.size(
      "--capacity,--device-memory", capacity_,
      {"SIZE", "device memory that the allocator may use, such as 80GiB", false, "as recorded"});
  options.output("--decisions", decisions_,
                 {"FILE", "write each decision of the allocator as JSON lines"});
  options.quiet(is_quiet_);
  json_.add_to(options);
}

}  // namespace

std::unique_ptr<Command> make_replay() {
  return std::make_unique<Replay>();
}

}  // namespace foreshard::cli
