// Event lists: the header, then an event a line.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/base/json_limits.hpp"
#include "models/base/utf8.hpp"
#include "traces/allocator/allocator_history.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/input/json_object.hpp"
#include "traces/input/line_reader.hpp"
#include "traces/input/sniff_file_type.hpp"

namespace foreshard::traces {
namespace {

using Json = nlohmann::json;
using Action = AllocatorAction;

constexpr std::size_t kMaxEvents = 3'000'000;
constexpr int kDeepest = 16;
constexpr std::size_t kMaxValuesOfAnEvent = std::size_t{1} << 16;  // stacks may stand in it
constexpr const char* kWhat = "an allocator event list (JSON lines) or a memory snapshot (pickle)";
constexpr std::array<std::string_view, 3> kHeaderKeys{"device", "settings", "initial_segments"};

#define TRY(target, expression)               \
  if (auto result_ = (expression); result_) { \
    (target) = std::move(*result_);           \
  } else {                                    \
    return tl::unexpected(result_.error());   \
  }

Result<AllocatorRules> read_rules(const JsonObject& header) {
  AllocatorRules rules;
  const auto found = header.json().find("settings");
  if (found == header.json().end()) return rules;
  if (!found->is_object()) return header.wrong("settings", "is not an object; expected one");
  const JsonObject settings(header.file(), header.path() + ": settings", *found);

  TRY(rules.expandable_segments, settings.boolean("expandable_segments", false));
  std::int64_t split = -1;
  TRY(split, settings.integer("max_split_size", -1, -1));
  rules.max_split_size = split > 0 ? split : AllocatorRules::kUnlimited;
  if (const auto gc = found->find("garbage_collection_threshold"); gc != found->end()) {
    if (!gc->is_number() || gc->get<double>() < 0.0 || gc->get<double>() > 1.0) {
      return settings.wrong("garbage_collection_threshold",
                            JsonObject::is(*gc) + "; expected a number from 0 to 1");
    }
    rules.garbage_collection_threshold = gc->get<double>();
  }
  if (const auto table = found->find("roundup_power2_divisions"); table != found->end()) {
    if (!table->is_object()) {
      return settings.wrong("roundup_power2_divisions", "is not an object; expected one");
    }
    const JsonObject divisions(header.file(), settings.path() + ": roundup_power2_divisions",
                               *table);
    AllocatorRules::Divisions values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string mebibytes = std::to_string(std::int64_t{1} << i);
      TRY(values[i], divisions.integer(mebibytes.c_str(), 0, 0));
      if (values[i] != 0 && !std::has_single_bit(static_cast<std::uint64_t>(values[i]))) {
        return divisions.wrong(
            mebibytes, "is " + std::to_string(values[i]) + "; expected 0 or a power of two");
      }
    }
    rules.round_to_power2_divisions(values);
  }
  return rules;
}

// [0, 0] where the key is missing.
Result<PoolId> read_pool(const JsonObject& reader, const char* key) {
  const auto found = reader.json().find(key);
  if (found == reader.json().end()) return PoolId{};
  const bool is_pair = found->is_array() && found->size() == 2 && (*found)[0].is_number_integer() &&
                       (*found)[1].is_number_integer();
  if (is_pair && (*found)[0].get<std::int64_t>() >= 0 && (*found)[1].get<std::int64_t>() >= 0) {
    return PoolId{(*found)[0].get<std::int64_t>(), (*found)[1].get<std::int64_t>()};
  }
  return reader.wrong(key, JsonObject::is(*found) + "; expected two whole numbers, such as [0, 1]");
}

Result<SegmentState::Part> read_block(const JsonObject& block) {
  SegmentState::Part part;
  TRY(part.address, block.integer("address", 0));
  TRY(part.bytes, block.integer("size", 1));
  TRY(part.requested, block.integer("requested_size", 0, 0));
  std::string state;
  TRY(state, block.word("state"));
  using Use = SegmentState::Use;
  if (state == "inactive") {
    part.use = Use::free;
  } else if (state == "active_allocated") {
    part.use = Use::allocated;
  } else if (state == "active_pending_free" || state == "active_awaiting_free") {
    part.use = Use::awaiting_free;
  } else {
    return block.wrong("state", "is \"" + excerpt(state) +
                                    "\"; expected inactive, active_allocated, "
                                    "active_pending_free or active_awaiting_free");
  }
  return part;
}

Result<SegmentState> read_segment(const JsonObject& reader, std::vector<RecordedStream>& streams) {
  SegmentState segment;
  TRY(segment.address, reader.integer("address", 0));
  TRY(segment.bytes, reader.integer("total_size", 1));
  RecordedStream stream;
  TRY(stream.stream, reader.integer("stream", 0));
  TRY(stream.pool, read_pool(reader, "segment_pool_id"));
  streams.push_back(stream);
  TRY(segment.expandable, reader.boolean("is_expandable", false));
  std::string type;
  TRY(type, reader.word("type"));
  if (type != "small" && type != "large") {
    return reader.wrong("type", "is \"" + excerpt(type) + "\"; expected small or large");
  }
  segment.small = type == "small";

  auto read = reader.each("blocks", [&](const JsonObject& block) -> Result<void> {
    auto part = read_block(block);
    if (!part) return tl::unexpected(part.error());
    segment.blocks.push_back(*part);
    return {};
  });
  if (!read) return tl::unexpected(read.error());
  return segment;
}

Result<HistoryEvent> read_event(const JsonObject& reader, std::vector<RecordedStream>& streams) {
  HistoryEvent event;
  std::string action;
  TRY(action, reader.word("action"));
  const auto known = allocator_action(action);
  if (!known) {
    const std::string near = nearest(action, kAllocatorActions);
    return reader.wrong("action",
                        "is \"" + excerpt(action) + "\"; expected " +
                            (near.empty() ? "an action of PyTorch's allocator" : "'" + near + "'"));
  }
  event.action = *known;
  RecordedStream stream;
  TRY(stream.pool, read_pool(reader, "pool_id"));
  if (event.action == Action::release_pool && !stream.pool.is_private()) {
    return reader.wrong("pool_id",
                        "does not name a private pool; expected the pool that is released");
  }
  if (!is_external_event(event.action)) {
    TRY(stream.stream, reader.integer("stream", 0));
    TRY(event.address, reader.integer("addr", 0));
    TRY(event.bytes, reader.integer("size", 0));
  }
  if (event.action == Action::oom) {
    TRY(event.device_free, reader.integer("device_free", -1, -1));
  }
  streams.push_back(stream);
  return event;
}

// A first line that is not a header usually belongs to a recording of another kind.
Result<void> check_header(const JsonObject& header, std::string_view line) {
  const auto& json = header.json();
  if (json.contains("action")) {
    return header.wrong("", "is an event; expected a header with the settings");
  }
  if (!json.contains("settings") && !json.contains("initial_segments")) {
    return header.wrong("", sniff_content(line) +
                                ", not a header with settings or initial_segments; " + "expected " +
                                kWhat);
  }
  for (const auto& [key, value] : json.items()) {
    if (std::find(kHeaderKeys.begin(), kHeaderKeys.end(), key) != kHeaderKeys.end()) continue;
    return header.wrong(excerpt(key),
                        "is not a key of a header; expected device, settings and initial_segments");
  }
  return {};
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
          (is_header ? " as the header of an event list, or a memory snapshot (pickle)" : ""));
}

Result<AllocatorHistory> read_history(ByteSource& bytes, const std::string& name) {
  LineReader lines(bytes);
  AllocatorHistory history;
  std::vector<RecordedStream> segment_streams, event_streams;
  bool events_name_pools = false;
  std::string_view line;
  while (lines.next(line)) {
    const std::string path = "line " + std::to_string(lines.number());
    const bool is_header = lines.number() == 1;
    if (history.events.size() == kMaxEvents) {
      return fail(name, path, "exceeds 3 million events; expected a shorter recording");
    }
    Json json;
    TRY(json, parsed(line, is_header, name, path));
    const JsonObject reader(name, path, json);
    if (is_header) {
      if (auto checked = check_header(reader, line); !checked) {
        return tl::unexpected(checked.error());
      }
      TRY(history.rules, read_rules(reader));
      auto read = reader.each("initial_segments", [&](const JsonObject& segment) -> Result<void> {
        auto state = read_segment(segment, segment_streams);
        if (!state) return tl::unexpected(state.error());
        history.start.push_back(std::move(*state));
        return {};
      });
      if (!read) return tl::unexpected(read.error());
    } else {
      HistoryEvent event;
      TRY(event, read_event(reader, event_streams));
      events_name_pools |= !is_external_event(event.action) && json.contains("pool_id");
      history.events.push_back(event);
    }
  }
  if (const std::string incomplete_reason = lines.incomplete_reason(); !incomplete_reason.empty()) {
    return fail(name, "line " + std::to_string(lines.number()),
                incomplete_reason + "; expected a complete file of JSON lines");
  }
  if (lines.number() <= 1) return fail(name, "", "is empty; expected a header line");
  number_streams(history, segment_streams, event_streams, events_name_pools);
  if (history.streams.size() > kMaxStreams) {
    return fail(name, "",
                "has " + std::to_string(history.streams.size()) + " streams; expected at most " +
                    std::to_string(kMaxStreams));
  }
  history.capacity = recorded_capacity(history);
  return history;
}

#undef TRY

}  // namespace

Result<AllocatorHistory> read_allocator_history(const std::filesystem::path& file) {
  const auto bytes = open_bytes(file.string(), kWhat);
  if (!bytes) return tl::unexpected(bytes.error());
  return read_history(**bytes, file.string());
}

Result<AllocatorHistory> parse_allocator_history(std::string_view text, const std::string& file) {
  return read_history(*bytes_in_memory(text), file);
}

Result<bool> is_json_lines(const std::filesystem::path& file) {
  const auto first = first_bytes(file.string(), 1, kWhat);
  if (!first) return tl::unexpected(first.error());
  if (first->empty()) return fail(file.string(), "", std::string("is empty; expected ") + kWhat);
  return *first == "{";
}

}  // namespace foreshard::traces
