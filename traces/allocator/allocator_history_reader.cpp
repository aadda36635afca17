// Event lists: the header, then an event a line, with labels where streams have names.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/base/json_limits.hpp"
#include "models/base/utf8.hpp"
#include "traces/allocator/history_header.hpp"
#include "traces/allocator/labelled_history.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/input/line_reader.hpp"
#include "traces/input/sniff_file_type.hpp"
#include "traces/input/try.hpp"

namespace foreshard::traces {
namespace {

using Json = nlohmann::json;
using Action = AllocatorAction;

constexpr std::size_t kMaxEvents = 3'000'000;
constexpr int kDeepest = 16;
constexpr std::size_t kMaxValuesOfAnEvent = std::size_t{1} << 16;  // stacks may stand in it

Result<HistoryEvent> read_event(const JsonObject& reader, const HistoryHeader& header,
                                std::vector<RecordedStream>& streams) {
  HistoryEvent event;
  std::string action;
  FORESHARD_TRY(action, reader.word("action"));
  const auto known = allocator_action(action);
  if (!known) {
    const std::string near = nearest(action, kAllocatorActions);
    return reader.wrong("action",
                        "is \"" + excerpt(action) + "\"; expected " +
                            (near.empty() ? "an action of PyTorch's allocator" : "'" + near + "'"));
  }
  event.action = *known;
  RecordedStream stream;
  FORESHARD_TRY(stream.pool, read_pool(reader, "pool_id"));
  if (event.action == Action::release_pool && !stream.pool.is_private()) {
    return reader.wrong("pool_id",
                        "does not name a private pool; expected the pool that is released");
  }
  if (!is_external_event(event.action)) {
    FORESHARD_TRY(stream.stream, read_stream(reader, header.streams));
    FORESHARD_TRY(event.address, reader.integer("addr", 0));
    FORESHARD_TRY(event.bytes, reader.integer("size", 0));
  }
  if (event.action == Action::oom) {
    FORESHARD_TRY(event.device_free, reader.integer("device_free", -1, -1));
  }
  streams.push_back(stream);
  return event;
}

Result<EventLabels> read_labels(const JsonObject& reader, Strings& texts) {
  EventLabels labels;
  std::int64_t number = 0;
  for (auto [key, label] : {std::pair{"step", &EventLabels::step},
                            std::pair{"instruction", &EventLabels::instruction}}) {
    FORESHARD_TRY(number, reader.integer(key, kNone, kNone));
    if (number > std::numeric_limits<std::int32_t>::max()) {
      return reader.wrong(key, "is " + std::to_string(number) + "; expected a smaller number");
    }
    labels.*label = static_cast<std::int32_t>(number);
  }
  std::string text;
  for (const auto& [key, label] : kTextLabels) {
    FORESHARD_TRY(text, reader.word(key, ""));
    labels.*label = texts.intern(text);
  }
  return labels;
}

// One object, parsed within bounds.
Result<Json> parsed(std::string_view line, bool is_header, const std::string& name,
                    const std::string& path) {
  if (line.find('\0') != std::string_view::npos) {
    return fail(name, path, "is not text; expected one JSON object");
  }
  const std::string excess =
      json_excess(line, kDeepest, is_header ? kMaxJsonValues : kMaxValuesOfAnEvent);
  if (!excess.empty()) return fail(name, path, excess + "; expected one JSON object");
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  return fail(
      name, path,
      (is_header ? sniff_content(line) + ", but not on one line" : "is not valid") +
          "; expected one JSON object" +
          (is_header ? " as the header of an allocation history, or a memory snapshot (pickle)"
                     : ""));
}

Result<LabelledHistory> read_history(ByteSource& bytes, const std::string& name) {
  LineReader lines(bytes);
  LabelledHistory labelled;
  AllocatorHistory& history = labelled.history;
  HistoryHeader header;
  std::vector<RecordedStream> event_streams;
  bool events_name_pools = false;
  std::string_view line;
  while (lines.next(line)) {
    const std::string path = "line " + std::to_string(lines.number());
    const bool is_header = lines.number() == 1;
    if (history.events.size() == kMaxEvents) {
      return fail(name, path, "exceeds 3 million events; expected a shorter recording");
    }
    Json json;
    FORESHARD_TRY(json, parsed(line, is_header, name, path));
    const JsonObject reader(name, path, json);
    if (is_header) {
      FORESHARD_TRY(header, read_header(reader, line));
      history.rules = header.rules;
      history.start = std::move(header.segments);
    } else {
      HistoryEvent event;
      FORESHARD_TRY(event, read_event(reader, header, event_streams));
      events_name_pools |= !is_external_event(event.action) && json.contains("pool_id");
      history.events.push_back(event);
      EventLabels labels;
      if (!header.streams.empty()) {
        FORESHARD_TRY(labels, read_labels(reader, labelled.texts));
      }
      FORESHARD_TRY(labels.time_us, reader.integer("time_us", 0, 0));
      labelled.labels.push_back(labels);
    }
  }
  if (const std::string incomplete_reason = lines.incomplete_reason(); !incomplete_reason.empty()) {
    return fail(name, "line " + std::to_string(lines.number()),
                incomplete_reason + "; expected a complete file of JSON lines");
  }
  if (lines.number() <= 1) return fail(name, "", "is empty; expected a header line");
  number_streams(history, header.segment_streams, event_streams, events_name_pools);
  if (history.streams.size() > kMaxStreams) {
    return fail(name, "",
                "has " + std::to_string(history.streams.size()) + " streams; expected at most " +
                    std::to_string(kMaxStreams));
  }
  for (const std::int64_t stream : history.streams) {
    labelled.streams.push_back(header.streams.empty()
                                   ? std::to_string(stream)
                                   : header.streams[static_cast<std::size_t>(stream)]);
  }
  history.capacity = recorded_capacity(history);
  return labelled;
}

}  // namespace

Result<LabelledHistory> read_labelled_history(const std::filesystem::path& file,
                                              const ImportOptions& options) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  const std::int64_t total = error ? 0 : static_cast<std::int64_t>(size);
  const auto bytes = open_bytes(file.string(), kExpectedHistory,
                                [&, done = std::int64_t{0}](std::size_t read) mutable {
                                  done += static_cast<std::int64_t>(read);
                                  if (options.on_progress) options.on_progress(done, total);
                                  return !options.stop.stop_requested();
                                });
  if (!bytes) return tl::unexpected(bytes.error());
  auto history = read_history(**bytes, file.string());
  if (options.stop.stop_requested()) return reading_stopped(file.string());
  return history;
}

Result<LabelledHistory> parse_labelled_history(std::string_view text, const std::string& file) {
  return read_history(*bytes_in_memory(text), file);
}

Result<AllocatorHistory> read_allocator_history(const std::filesystem::path& file) {
  auto labelled = read_labelled_history(file);
  if (!labelled) return tl::unexpected(labelled.error());
  return std::move(labelled->history);
}

Result<AllocatorHistory> parse_allocator_history(std::string_view text, const std::string& file) {
  auto labelled = parse_labelled_history(text, file);
  if (!labelled) return tl::unexpected(labelled.error());
  return std::move(labelled->history);
}

Result<bool> is_json_lines(const std::filesystem::path& file) {
  const auto first = first_bytes(file.string(), 1, kExpectedHistory);
  if (!first) return tl::unexpected(first.error());
  if (first->empty())
    return fail(file.string(), "", std::string("is empty; expected ") + kExpectedHistory);
  return *first == "{";
}

}  // namespace foreshard::traces
