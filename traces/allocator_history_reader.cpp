// Event lists: the header, then an event a line.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "traces/allocator_history.hpp"
#include "traces/json_lines.hpp"

namespace foreshard::traces {
namespace {

using Json = nlohmann::json;
using Action = AllocatorAction;

constexpr std::size_t kMostEvents = 3'000'000;

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
  if (!found->is_object()) return header.wrong("settings", "is no object; expected one");
  const JsonObject settings(header.file(), header.place() + ": settings", *found);

  TRY(rules.expandable_segments, settings.boolean("expandable_segments", false));
  std::int64_t split = -1;
  TRY(split, settings.integer("max_split_size", -1, -1));
  rules.max_split_size = split > 0 ? split : AllocatorRules::kUnlimited;
  if (const auto gc = found->find("garbage_collection_threshold"); gc != found->end()) {
    if (!gc->is_number() || gc->get<double>() < 0.0 || gc->get<double>() > 1.0) {
      return settings.wrong("garbage_collection_threshold",
                            "is " + gc->dump() + "; expected a number from 0 to 1");
    }
    rules.garbage_collection_threshold = gc->get<double>();
  }
  if (const auto table = found->find("roundup_power2_divisions"); table != found->end()) {
    if (!table->is_object()) {
      return settings.wrong("roundup_power2_divisions", "is no object; expected one");
    }
    const JsonObject divisions(header.file(), settings.place() + ": roundup_power2_divisions",
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
  return reader.wrong(key, "is " + found->dump() + "; expected two whole numbers, such as [0, 1]");
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
    return reader.wrong("type", "is \"" + type + "\"; expected small or large");
  }
  segment.small = type == "small";

  std::vector<JsonObject> blocks;
  TRY(blocks, reader.objects("blocks"));
  for (const JsonObject& block : blocks) {
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
      return block.wrong("state", "is \"" + state +
                                      "\"; expected inactive, active_allocated, "
                                      "active_pending_free or active_awaiting_free");
    }
    segment.blocks.push_back(part);
  }
  return segment;
}

Result<HistoryEvent> read_event(const JsonObject& reader, std::vector<RecordedStream>& streams) {
  HistoryEvent event;
  std::string action;
  TRY(action, reader.word("action"));
  const auto known = allocator_action(action);
  if (!known) {
    const std::string near = nearest(action, kAllocatorActions);
    return reader.wrong(
        "action", "is \"" + action + "\"; expected " +
                      (near.empty() ? "an action of the allocator's history" : "perhaps " + near));
  }
  event.action = *known;
  RecordedStream stream;
  TRY(stream.pool, read_pool(reader, "pool_id"));
  if (event.action == Action::release_pool && !stream.pool.is_private()) {
    return reader.wrong("pool_id", "names no private pool; expected the one that is released");
  }
  if (!is_from_outside(event.action)) {
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

Result<AllocatorHistory> read_history(Lines& lines, const std::string& name) {
  AllocatorHistory history;
  std::vector<RecordedStream> segment_streams, event_streams;
  bool events_name_pools = false;
  std::string_view line;
  while (lines.next(line)) {
    const std::string place = "line " + std::to_string(lines.number());
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return fail(name, place, "is not valid; expected one JSON object");
    const JsonObject reader(name, place, json);
    if (lines.number() == 1) {
      if (json.contains("action")) {
        return fail(name, place, "is an event; expected a header with the settings");
      }
      TRY(history.rules, read_rules(reader));
      std::vector<JsonObject> segments;
      TRY(segments, reader.objects("initial_segments"));
      for (const JsonObject& segment : segments) {
        auto state = read_segment(segment, segment_streams);
        if (!state) return tl::unexpected(state.error());
        history.start.push_back(std::move(*state));
      }
    } else {
      if (history.events.size() == kMostEvents) {
        return fail(name, place, "is beyond 3 million events; expected a shorter recording");
      }
      HistoryEvent event;
      TRY(event, read_event(reader, event_streams));
      events_name_pools |= !is_from_outside(event.action) && json.contains("pool_id");
      history.events.push_back(event);
    }
  }
  if (lines.is_broken()) {
    return fail(
        name, "line " + std::to_string(lines.number()),
        "breaks off, is no text or has more than 64 MiB; expected a whole file of JSON lines");
  }
  if (lines.number() <= 1) return fail(name, "", "is empty; expected a header line");
  number_streams(history, segment_streams, event_streams, events_name_pools);
  if (history.streams.size() > kMostStreams) {
    return fail(name, "",
                "names " + std::to_string(history.streams.size()) + " streams; expected at most " +
                    std::to_string(kMostStreams));
  }
  history.capacity = recorded_capacity(history);
  return history;
}

#undef TRY

}  // namespace

Result<AllocatorHistory> read_allocator_history(const std::filesystem::path& file) {
  Lines lines(file);
  if (!lines.is_open())
    return fail(file.string(), "", "cannot be opened; expected a readable file");
  return read_history(lines, file.string());
}

Result<AllocatorHistory> parse_allocator_history(std::string_view text, const std::string& file) {
  Lines lines(text);
  return read_history(lines, file);
}

Result<bool> is_json_lines(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    return fail(file.string(), "", "is a folder; expected an event list or a snapshot's pickle");
  }
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"), gzclose);
  if (!in) return fail(file.string(), "", "cannot be opened; expected a readable file");
  const int first = gzgetc(in.get());
  if (first < 0) {
    return fail(file.string(), "", "is empty; expected an event list or a snapshot's pickle");
  }
  return first == '{';
}

}  // namespace foreshard::traces
