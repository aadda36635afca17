#include "traces/kineto/recording.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "traces/kineto/collector.hpp"
#include "traces/kineto/event_context.hpp"
#include "traces/kineto/file_metadata.hpp"
#include "traces/kineto/json/recording_reader.hpp"
#include "traces/kineto/memory_history.hpp"

namespace foreshard::traces::kineto {
namespace {

// PyTorch's handler names files HOST_PID.TIME.pt.trace.json.
std::string host_in_name(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  if (name.find(".pt.trace.json") == std::string::npos) return {};
  const std::size_t end = name.find_last_of('_');
  if (end == std::string::npos || end + 1 >= name.size()) return {};
  const std::size_t digits = name.find_first_not_of("0123456789", end + 1);
  return digits != end + 1 && digits != std::string::npos && name[digits] == '.'
             ? name.substr(0, end)
             : std::string();
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

}  // namespace

std::optional<std::int32_t> rank_in_name(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  for (std::size_t at = name.find("rank"); at != std::string::npos;
       at = name.find("rank", at + 1)) {
    std::size_t digits = at + 4;
    if (digits < name.size() && (name[digits] == '-' || name[digits] == '_')) ++digits;
    std::int32_t rank = 0;
    const auto parsed = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
    if (parsed.ec == std::errc() && rank >= 0) return rank;
  }
  return std::nullopt;
}

Result<Recording> read_recording(ByteSource& bytes, const std::string& file,
                                 const ImportOptions& options) {
  Collector collector(options);
  FileMetadata metadata;
  RecordingReader reader(
      bytes, [&](const RawEvent& event) { collector.use(event); },
      [&](std::string_view key, std::string_view value) { metadata.use(key, value); });
  const auto read = reader.read(file);
  if (options.stop.stop_requested()) return reading_stopped(file);
  if (!read) return tl::unexpected(read.error());

  Recording out;
  out.file = file;
  out.device = metadata.device(collector.device());
  const std::int64_t last_ns = collector.last_end_ns() + metadata.base_ns();
  Collected collected = collector.finish(metadata.base_ns());
  if (options.stop.stop_requested()) return reading_stopped(file);
  EventContexts contexts = attribute(collected);
  if (options.stop.stop_requested()) return reading_stopped(file);
  const std::vector<MemoryEvent> memory = memory_history(collected, contexts);
  out.trace.memory = MemoryEventList(memory.begin(), memory.end());
  out.trace.strings = std::move(collected.strings);
  out.trace.lanes = std::move(collected.lanes);
  out.trace.events = EventList(collected.events.begin(), collected.events.end());
  out.trace.steps = std::move(contexts.steps);
  out.trace.dropped = std::move(collected.dropped);
  out.trace.losses = std::move(collected.losses);
  out.trace.metadata = metadata.other();
  if (reader.damaged() > 0) out.trace.dropped["damaged parts of the file"] = reader.damaged();
  if (reader.other_objects() > 0)
    out.trace.dropped["objects without a phase"] = reader.other_objects();
  set_span(out);
  out.incomplete_reason = reader.incomplete_reason();
  out.trace.complete = out.incomplete_reason.empty();
  out.trace.complete_until_ns = out.trace.complete ? out.end_ns : last_ns;
  out.mended = reader.mended();
  out.rank = metadata.rank().has_value() ? metadata.rank() : rank_in_name(file);
  out.world_size = metadata.world_size();
  out.host = metadata.host().empty() ? host_in_name(file) : metadata.host();
  out.cost_keys_mapped = contexts.cost_keys_mapped;
  out.cost_keys_unmapped = contexts.cost_keys_unmapped;
  out.unrelated_collectives = contexts.unrelated_collectives;
  return out;
}

}  // namespace foreshard::traces::kineto
