// foreshard replay: a recorded allocation history through the allocator, as it was or under other
// settings.
#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "profiler/replay/replay_report.hpp"
#include "traces/allocator/allocator_settings.hpp"
#include "traces/snapshot/history.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::cli {
namespace {

using namespace profiler;
using traces::AllocatorHistory;
using traces::ReplayOptions;

struct Flags {
  std::string history, allocator, capacity, decisions;
  std::optional<int> device;
  JsonOutput json;
} flags;

// The device that ran out of memory, or else the one with the most events.
int telling_device(const traces::Snapshot& snapshot, const std::vector<int>& devices) {
  const auto weight = [&](int device) {
    const auto index = static_cast<std::size_t>(device);
    if (index >= snapshot.devices.size()) return std::pair(false, std::size_t{0});
    const auto& events = snapshot.devices[index];
    const bool ran_out = std::any_of(events.begin(), events.end(), [](const auto& e) {
      return e.action == traces::AllocatorAction::oom;
    });
    return std::pair(ran_out, events.size());
  };
  return *std::max_element(devices.begin(), devices.end(),
                           [&](int a, int b) { return weight(a) < weight(b); });
}

Result<Recording> read_snapshot_history(ReplayAnswer& answer) {
  const auto snapshot = traces::read_snapshot(flags.history);
  if (!snapshot) return tl::unexpected(snapshot.error());
  answer.devices = traces::recorded_devices(*snapshot);
  if (answer.devices.empty()) {
    return fail(
        flags.history, "",
        "holds no segments and no events" +
            (snapshot->trouble.empty() ? "" : " before its damage (" + snapshot->trouble + ")") +
            "; expected a device's memory");
  }
  const int device = flags.device.value_or(telling_device(*snapshot, answer.devices));
  if (std::find(answer.devices.begin(), answer.devices.end(), device) == answer.devices.end()) {
    std::string known;
    for (const int each : answer.devices)
      known += (known.empty() ? "" : ", ") + std::to_string(each);
    return fail(flags.history, "--device",
                "has nothing of device " + std::to_string(device) + "; expected one of " + known);
  }
  traces::SnapshotHistory found = traces::history_of(*snapshot, device);
  answer.device = device;
  answer.trouble = snapshot->trouble;
  answer.misfits = found.misfits;
  answer.left_out = found.left_out;
  Recording recording;
  recording.history = std::move(found.history);
  recording.trace = traces::import_snapshot(*snapshot, flags.history, {.keeps_stacks = false});
  recording.contents = contents(*recording.trace, device);
  recording.device = device;
  return recording;
}

Result<Recording> read_recording(ReplayAnswer& answer) {
  const auto is_list = traces::is_json_lines(flags.history);
  if (!is_list) return tl::unexpected(is_list.error());
  if (!*is_list) return read_snapshot_history(answer);
  if (flags.device) {
    return fail(flags.history, "--device",
                "is an event list of one device; expected --device with a snapshot only");
  }
  auto history = traces::read_allocator_history(flags.history);
  if (!history) return tl::unexpected(history.error());
  Recording recording;
  recording.history = std::move(*history);
  return recording;
}

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

// As the flags ask.
Result<ReplayOptions> options_for(const AllocatorHistory& history, ReplayAnswer& answer) {
  ReplayOptions options = recorded_options(history);
  answer.capacity = history.capacity;
  if (!flags.capacity.empty()) {
    const auto capacity = parse_bytes(flags.capacity, "--capacity");
    if (!capacity) return tl::unexpected(capacity.error());
    answer.has_other_device = history.capacity != *capacity;
    // A larger device would not have refused.
    options.hears_refusals = !history.capacity || *capacity <= *history.capacity;
    answer.capacity = options.capacity = *capacity;
  }
  if (!flags.allocator.empty()) {
    const auto rules =
        traces::parse_allocator_settings(flags.allocator, history.rules, "--allocator");
    if (!rules) return tl::unexpected(rules.error());
    options.rules = *rules;
    options.hears_refusals = false;
    answer.settings = flags.allocator;
  }
  return options;
}

Result<void> write_decisions(const traces::ReplayResult& result) {
  if (flags.decisions.empty()) return {};
  return write_output(flags.decisions, "--decisions",
                      [&](std::ostream& out) { out << decisions_text(result); });
}

Result<void> ask(const Recording& recording, const ReplayOptions& options, ReplayAnswer& answer) {
  const AllocatorHistory& history = recording.history;
  auto proof = traces::replay(history, recorded_options(history));
  if (!proof) return tl::unexpected(proof.error());
  answer.proof = std::move(*proof);
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

Result<int> replay() {
  if (auto ok = flags.json.check(); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_output(flags.decisions, "--decisions"); !ok) {
    return tl::unexpected(ok.error());
  }
  ReplayAnswer answer;
  answer.history = flags.history;
  const auto recording = read_recording(answer);
  if (!recording) return tl::unexpected(recording.error());
  describe(*recording, answer);
  const auto options = options_for(recording->history, answer);
  if (!options) return tl::unexpected(options.error());
  if (auto done = ask(*recording, *options, answer); !done) {
    if (done.error().file.empty()) done.error().file = flags.history;
    return tl::unexpected(done.error());
  }
  if (auto ok = write_decisions(answer.result); !ok) return written(ok);
  return written(flags.json.answer(to_json(answer), replay_text(answer)));
}

}  // namespace

void add_replay_flags(CLI::App& app) {
  app.add_option("history", flags.history,
                 "event list (JSON lines, plain or gzip) or memory snapshot (pickle)")
      ->required()
      ->type_name("HISTORY");
  app.add_option("--device", flags.device,
                 "device of a snapshot; by default the one that ran out of memory")
      ->type_name("N");
  app.add_option("--allocator", flags.allocator,
                 "other settings: expandable_segments=true,max_split_size_mb=128,"
                 "roundup_power2_divisions=8,garbage_collection_threshold=0.8")
      ->type_name("KEY=VALUE,...");
  app.add_option("--capacity", flags.capacity,
                 "memory the device has for the allocator, such as 80GiB")
      ->type_name("X");
  app.add_option("--decisions", flags.decisions, "write what the allocator decided, JSON lines")
      ->type_name("F");
  flags.json.add_to(app);
}

int run_replay() {
  try {
    return status_of(replay());
  } catch (const std::bad_alloc&) {
    return complain(
        {flags.history, "", "takes more memory than there is; expected a smaller recording"});
  }
}

}  // namespace foreshard::cli
