// foreshard replay: a recorded allocation history through the allocator, as it was or under other
// settings.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/replay_report.hpp"
#include "traces/allocator_settings.hpp"
#include "traces/snapshot/history.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::cli {
namespace {

using traces::AllocatorHistory;
using traces::ReplayOptions;

struct Flags {
  std::string history, allocator, capacity, decisions;
  std::optional<int> device;
  JsonOutput json;
} flags;

struct Recording {
  AllocatorHistory history;
  std::optional<traces::Trace> trace;  // of a snapshot
};

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
    return fail(flags.history, "", "holds no segments and no events; expected a device's memory");
  }
  answer.device = flags.device.value_or(telling_device(*snapshot, answer.devices));
  if (std::find(answer.devices.begin(), answer.devices.end(), *answer.device) ==
      answer.devices.end()) {
    std::string known;
    for (const int device : answer.devices) {
      known += (known.empty() ? "" : ", ") + std::to_string(device);
    }
    return fail(
        flags.history, "--device",
        "has nothing of device " + std::to_string(*answer.device) + "; expected one of " + known);
  }
  traces::SnapshotHistory found = traces::history_of(*snapshot, *answer.device);
  answer.complete = snapshot->complete;
  answer.misfits = found.misfits;
  answer.left_out = found.left_out;
  Recording recording{std::move(found.history),
                      traces::import_snapshot(*snapshot, flags.history, {.keeps_stacks = false})};
  answer.contents = traces::contents(*recording.trace, *answer.device);
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
  return Recording{std::move(*history), std::nullopt};
}

Result<Fragmentation> fragmentation_after(const AllocatorHistory& history, ReplayOptions options,
                                          std::size_t event) {
  options.events = event + 1;
  const auto result = traces::replay(history, options);
  if (!result) return tl::unexpected(result.error());
  Fragmentation found;
  for (const SegmentState& segment : result->end) {
    found.reserved += segment.bytes;
    for (const auto& block : segment.blocks) {
      const bool is_free = block.use == SegmentState::Use::free;
      if (is_free) found.largest_free = std::max(found.largest_free, block.bytes);
    }
  }
  found.allocated = result->statistics.allocated;
  return found;
}

// Other settings on the same device, and the program's own part: freeing what was gathered.
Result<std::vector<WhatIf>> what_ifs(const Recording& recording, const ReplayOptions& asked,
                                     const ReplayAnswer& answer) {
  static constexpr const char* kChanges[] = {
      "expandable_segments=true",   "max_split_size_mb=128",
      "max_split_size_mb=512",      "garbage_collection_threshold=0.8",
      "roundup_power2_divisions=8", "garbage_collection_threshold=0.8,max_split_size_mb=512",
  };
  std::vector<WhatIf> found;
  const auto ask = [&](const std::string& change, const AllocatorHistory& history,
                       const ReplayOptions& options) -> Result<void> {
    const auto result = traces::replay(history, options);
    if (!result) return tl::unexpected(result.error());
    found.push_back({change, static_cast<std::int64_t>(result->failures.size()),
                     result->statistics.peak_reserved, result->statistics.peak_allocated});
    return {};
  };
  const AllocatorRules rules = asked.rules.value_or(recording.history.rules);
  for (const char* change : kChanges) {
    ReplayOptions options = asked;
    options.hears_refusals = false;
    options.rules = *traces::parse_allocator_settings(change, rules, "");
    if (auto done = ask(change, recording.history, options); !done) {
      return tl::unexpected(done.error());
    }
  }
  const bool holds_gathered =
      answer.contents && answer.contents->out_of_memory &&
      std::any_of(answer.contents->gathered.begin(), answer.contents->gathered.end(),
                  [](const auto& group) { return group.left > 0; });
  if (!holds_gathered) return found;
  ReplayOptions options = asked;
  options.hears_refusals = false;
  const AllocatorHistory freed =
      traces::without_gathered(recording.history, *recording.trace, *answer.device);
  if (auto done = ask("gathered parameters freed after the forward", freed, options); !done) {
    return tl::unexpected(done.error());
  }
  return found;
}

Result<ReplayOptions> options_for(const AllocatorHistory& history, ReplayAnswer& answer) {
  ReplayOptions options;
  answer.capacity = history.capacity;
  if (!flags.capacity.empty()) {
    const auto capacity = parse_bytes(flags.capacity, "--capacity");
    if (!capacity) return tl::unexpected(capacity.error());
    answer.as_recorded = history.capacity == *capacity;
    // A larger device would not have refused.
    options.hears_refusals = !history.capacity || *capacity <= *history.capacity;
    answer.capacity = *capacity;
  }
  if (answer.capacity) options.capacity = *answer.capacity;
  if (!flags.allocator.empty()) {
    const auto rules =
        traces::parse_allocator_settings(flags.allocator, history.rules, "--allocator");
    if (!rules) return tl::unexpected(rules.error());
    options.rules = *rules;
    answer.as_recorded = false;
    options.hears_refusals = false;
  }
  return options;
}

Result<void> write_decisions(const traces::ReplayResult& result) {
  if (flags.decisions.empty()) return {};
  std::ofstream file(flags.decisions, std::ios::binary);
  file << decisions_text(result);
  file.close();
  if (!file) return fail(flags.decisions, "--decisions", "cannot be written");
  return {};
}

Result<void> replay() {
  if (auto ok = flags.json.check(); !ok) return ok;
  if (auto ok = check_output(flags.decisions, "--decisions"); !ok) return ok;
  ReplayAnswer answer;
  answer.history = flags.history;
  auto recording = read_recording(answer);
  if (!recording) return tl::unexpected(recording.error());
  const AllocatorHistory& history = recording->history;
  const auto options = options_for(history, answer);
  if (!options) return tl::unexpected(options.error());

  const auto in_file = [](Error error) {
    if (error.file.empty()) error.file = flags.history;
    return tl::unexpected(std::move(error));
  };
  auto result = traces::replay(history, *options);
  if (!result) return in_file(result.error());
  answer.events = history.events.size();
  answer.recorded = traces::recorded_figures(history);
  const auto at_peak = fragmentation_after(history, *options, result->peak_event);
  if (!at_peak) return in_file(at_peak.error());
  answer.at_peak = *at_peak;
  const auto failure = std::find_if(
      result->decisions.begin(), result->decisions.end(),
      [](const auto& d) { return d.kind == traces::ReplayDecision::Kind::out_of_memory; });
  if (failure != result->decisions.end()) {
    const auto at_failure = fragmentation_after(history, *options, failure->index);
    if (!at_failure) return in_file(at_failure.error());
    answer.at_failure = *at_failure;
    auto found = what_ifs(*recording, *options, answer);
    if (!found) return in_file(found.error());
    answer.what_ifs = std::move(*found);
  }
  answer.result = std::move(*result);
  if (auto ok = write_decisions(answer.result); !ok) return ok;
  if (auto ok = flags.json.write(replay_json(answer)); !ok) return ok;
  if (!flags.json.is_standard_output()) std::printf("%s", replay_text(answer).c_str());
  return {};
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
  const auto done = replay();
  return done ? kSuccess : complain(done.error());
}

}  // namespace foreshard::cli
