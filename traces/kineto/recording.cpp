#include "traces/kineto/recording.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/base/json_limits.hpp"
#include "traces/input/limits.hpp"
#include "traces/input/rank_in_name.hpp"
#include "traces/kineto/background_collectives.hpp"
#include "traces/kineto/collector.hpp"
#include "traces/kineto/costs/operator_keys.hpp"
#include "traces/kineto/json/recording_reader.hpp"
#include "traces/kineto/memory_history.hpp"
#include "traces/meaning/attribution.hpp"

namespace foreshard::traces::kineto {
namespace {

// Metadata of a recording beside its events: rank, machine, time origin.

class FileMetadata {
 public:
  void use(std::string_view key, std::string_view json);

  std::int64_t base_ns() const { return base_ns_; }
  std::optional<std::int32_t> rank() const { return rank_; }
  std::int32_t world_size() const { return world_size_; }
  const std::string& host() const { return host_; }
  // The name of that device, or of the only one.
  std::string device(std::int64_t id) const;
  // Versions and the like, as they are.
  const std::map<std::string, std::string>& other() const { return other_; }

 private:
  void use_distributed(std::string_view json);
  void use_devices(std::string_view json);

  std::int64_t base_ns_ = 0;
  std::optional<std::int32_t> rank_;
  std::int32_t world_size_ = 0;
  std::string host_;
  std::map<std::int64_t, std::string> devices_;
  std::map<std::string, std::string> other_;
};

using Json = nlohmann::json;

constexpr std::int64_t kLatestBase = 4'000'000'000'000'000'000;  // the year 2096

// Null where the text is no JSON of reasonable size.
Json parsed(std::string_view json) {
  constexpr std::size_t kLargest = std::size_t{4} << 20;
  constexpr int kDeepest = 16;
  if (json.size() > kLargest || !json_excess(json, kDeepest).empty()) return {};
  Json value = Json::parse(json.begin(), json.end(), nullptr, false);
  return value.is_discarded() ? Json() : value;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() || value.is_boolean() ? value.dump() : std::string();
}

// A number, also where it stands as text.
std::optional<std::int64_t> integer_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  const std::string text = text_of(*found);
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

const std::set<std::string_view> kOtherKeys{
    "schemaVersion", "cuda_runtime_version", "cuda_driver_version",
    "cupti_version", "hip_runtime_version",  "hip_driver_version",
    "record_shapes", "with_stack",           "profile_memory",
    "with_flops",    "with_modules",         "trace_id",
    "traceName"};

void FileMetadata::use(std::string_view key, std::string_view json) {
  if (key == "distributedInfo") {
    use_distributed(json);
  } else if (key == "deviceProperties") {
    use_devices(json);
  } else if (key == "baseTimeNanoseconds") {
    const Json object{{"value", parsed(json)}};
    const std::int64_t base = integer_of(object, "value").value_or(0);
    if (base >= 0 && base <= kLatestBase) base_ns_ = base;
  } else if (key == "host_name" || key == "hostname") {
    host_ = text_of(parsed(json));
  } else if (kOtherKeys.contains(key)) {
    other_[std::string(key)] = text_of(parsed(json));
  }
}

void FileMetadata::use_distributed(std::string_view json) {
  const Json info = parsed(json);
  if (!info.is_object()) return;
  const std::int64_t rank = integer_of(info, "rank").value_or(-1);
  if (rank >= 0 && rank < kMaxRanks) rank_ = static_cast<std::int32_t>(rank);
  const std::int64_t size = integer_of(info, "world_size").value_or(0);
  if (size > 0 && size <= kMaxRanks) world_size_ = static_cast<std::int32_t>(size);
}

void FileMetadata::use_devices(std::string_view json) {
  const Json devices = parsed(json);
  if (!devices.is_array()) return;
  for (const Json& device : devices) {
    if (!device.is_object()) continue;
    const auto id = integer_of(device, "id");
    const auto name = device.find("name");
    if (id && name != device.end()) devices_[*id] = text_of(*name);
  }
}

std::string FileMetadata::device(std::int64_t id) const {
  const auto found = devices_.find(id);
  if (found != devices_.end()) return found->second;
  return devices_.size() == 1 ? devices_.begin()->second : std::string();
}

struct Process {
  std::string host;
  std::optional<std::int64_t> number;
};

// PyTorch's handler names files HOST_PID.TIME.pt.trace.json.
Process process_in_name(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  const std::size_t end = name.find_last_of('_');
  if (name.find(".pt.trace.json") == std::string::npos || end == std::string::npos) return {};
  std::int64_t number = 0;
  const char* const last = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + end + 1, last, number);
  if (parsed.ec != std::errc() || number < 0 || parsed.ptr == last || *parsed.ptr != '.') return {};
  return {name.substr(0, end), number};
}

void set_span(Recording& out) {
  const Trace& trace = out.trace;
  if (trace.events.empty() && trace.memory.empty()) return;
  out.start_ns = INT64_MAX;
  out.end_ns = INT64_MIN;
  for (const Event& event : trace.events) {
    out.start_ns = std::min(out.start_ns, event.start_ns);
    out.end_ns = std::max(out.end_ns, event.end_ns);
  }
  for (const MemoryEvent& event : trace.memory) {
    out.start_ns = std::min(out.start_ns, event.time_ns);
    out.end_ns = std::max(out.end_ns, event.time_ns);
  }
}

// One collector for each label of a merged file, or one for all.
class Collectors {
 public:
  explicit Collectors(const ImportOptions& options) : options_(options) {}

  // `process`: as it stands in the file.
  Collector& of(std::string_view process) {
    const std::string_view label = label_of(process);
    if (last_ != nullptr && label == last_label_) return *last_;
    auto found = by_label_.find(label);
    if (found == by_label_.end()) {
      // A file of more is damaged.
      constexpr std::size_t kMaxLabels = 1'024;
      const std::string_view key = by_label_.size() < kMaxLabels ? label : std::string_view();
      found = by_label_.try_emplace(std::string(key), options_).first;
    }
    last_label_ = label;
    last_ = &found->second;
    return *last_;
  }

  // By label, at least one. What the merging tool itself has added, without a label, is no process.
  std::vector<Collector*> all() {
    std::vector<Collector*> out;
    for (auto& [label, collector] : by_label_) {
      if (!label.empty() || collector.has_lanes()) out.push_back(&collector);
    }
    if (out.empty()) out.push_back(&of(""));
    return out;
  }

 private:
  // "[TP01]" of "[TP01] 4242".
  static std::string_view label_of(std::string_view process) {
    if (!process.starts_with('[')) return {};
    return process.substr(0, process.find(']') + 1);
  }

  const ImportOptions& options_;
  std::map<std::string, Collector, std::less<>> by_label_;
  std::string last_label_;
  Collector* last_ = nullptr;
};

// Of the device's work, and of operators that models/ has by name.
void count_cost_keys(const Collected& collected, Recording& out) {
  std::vector<std::int8_t> has_key(collected.strings.size(), -1);  // names; -1: not looked into
  const auto may_have_key = [&](const Event& event) {
    if (collected.lanes[static_cast<std::size_t>(event.lane)].device) {
      return is_device_work(event.kind);
    }
    if (event.cost_key != 0 || event.kind != EventKind::host) return event.cost_key != 0;
    std::int8_t& known = has_key[static_cast<std::size_t>(event.name)];
    if (known < 0) known = key_rule(collected.strings[event.name]) != nullptr ? 1 : 0;
    return known > 0;
  };
  for (const Event& event : collected.events) {
    if (may_have_key(event)) {
      ++(event.cost_key != 0 ? out.cost_keys_mapped : out.cost_keys_unmapped);
    }
  }
}

// Nothing where reading was stopped.
std::optional<Recording> recording_of(Collector& collector, const FileMetadata& metadata,
                                      const ImportOptions& options) {
  Recording out;
  out.device = metadata.device(collector.device());
  out.host = metadata.host();
  Collected collected = collector.finish(metadata.base_ns());
  if (options.stop.stop_requested()) return std::nullopt;
  sort_lanes(collected);
  link_by_flows(collected);
  std::vector<Moment> moments;
  for (const AllocatorInstant& instant : collected.memory) {
    moments.push_back({instant.time_ns, instant.lane});
  }
  Attribution attribution = attribute(collected, moments);
  out.unrelated_collectives = relate_background_collectives(collected);
  count_cost_keys(collected, out);
  if (options.stop.stop_requested()) return std::nullopt;
  const std::vector<MemoryEvent> memory = memory_history(collected, attribution);
  out.trace.memory = MemoryEventList(memory.begin(), memory.end());
  out.trace.steps = std::move(attribution.steps);
  out.trace.dropped = std::move(collected.dropped);
  out.trace.dropped_ranges = std::move(collected.dropped_ranges);
  out.trace.counters = std::move(collected.counters);
  put_events(out.trace, std::move(collected));
  out.trace.metadata = metadata.other();
  set_span(out);
  for (Counter& counter : out.trace.counters) {
    sort(counter);
    cut(counter, {out.start_ns, out.end_ns});
  }
  return out;
}

}  // namespace

Result<std::vector<Recording>> read_recordings(ByteSource& bytes, const std::string& file,
                                               const ImportOptions& options) {
  Collectors collectors(options);
  FileMetadata metadata;
  RecordingReader reader(
      bytes, [&](const RawEvent& event) { collectors.of(event.process).use(event); },
      [&](std::string_view key, std::string_view value) { metadata.use(key, value); });
  const auto read = reader.read(file);
  if (options.stop.stop_requested()) return reading_stopped(file);
  if (!read) return tl::unexpected(read.error());

  std::vector<Recording> out;
  for (Collector* const collector : collectors.all()) {
    auto recording = recording_of(*collector, metadata, options);
    if (!recording) return reading_stopped(file);
    recording->file = file;
    recording->incomplete_reason = reader.incomplete_reason();
    recording->trace.complete = recording->incomplete_reason.empty();
    // The file's order is not that of time: any record may be among those that are missing.
    recording->trace.complete_until_ns = recording->trace.complete ? recording->end_ns : 0;
    out.push_back(std::move(*recording));
  }
  Recording& first = out.front();
  if (reader.damaged() > 0) first.trace.dropped["damaged parts of the file"] = reader.damaged();
  if (reader.other_objects() > 0)
    first.trace.dropped["objects without a phase"] = reader.other_objects();
  first.mended = reader.mended();
  if (out.size() > 1) return out;
  first.rank = metadata.rank().has_value() ? metadata.rank() : rank_in_name(file);
  first.world_size = metadata.world_size();
  const Process process = process_in_name(file);
  if (first.host.empty()) first.host = process.host;
  first.process = process.number;
  return out;
}

}  // namespace foreshard::traces::kineto
