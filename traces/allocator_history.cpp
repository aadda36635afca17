#include "traces/allocator_history.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "traces/bounded_sum.hpp"
#include "traces/json_lines.hpp"

namespace foreshard::traces {
namespace {

using Json = nlohmann::json;
using Action = HistoryEvent::Action;

constexpr std::array<std::pair<std::string_view, Action>, 10> kActions{{
    {"alloc", Action::alloc},
    {"free_requested", Action::free_requested},
    {"free_completed", Action::free_completed},
    {"segment_alloc", Action::segment_alloc},
    {"segment_free", Action::segment_free},
    {"segment_map", Action::segment_map},
    {"segment_unmap", Action::segment_unmap},
    {"oom", Action::oom},
    {"empty_cache", Action::empty_cache},
    {"device_full", Action::device_full},
}};

constexpr std::size_t kMostStreams = 1024;
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

Result<SegmentState> read_segment(const JsonObject& reader, std::vector<std::int64_t>& streams) {
  SegmentState segment;
  TRY(segment.address, reader.integer("address", 0));
  TRY(segment.bytes, reader.integer("total_size", 1));
  std::int64_t stream = 0;
  TRY(stream, reader.integer("stream", 0));
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

Result<HistoryEvent> read_event(const JsonObject& reader, std::vector<std::int64_t>& streams) {
  HistoryEvent event;
  std::string action;
  TRY(action, reader.word("action"));
  const auto known = std::find_if(kActions.begin(), kActions.end(),
                                  [&](const auto& entry) { return entry.first == action; });
  if (known == kActions.end()) {
    std::array<std::string_view, kActions.size()> names;
    std::transform(kActions.begin(), kActions.end(), names.begin(),
                   [](const auto& entry) { return entry.first; });
    const std::string near = nearest(action, names);
    return reader.wrong(
        "action", "is \"" + action + "\"; expected " +
                      (near.empty() ? "an action of the allocator's history" : "perhaps " + near));
  }
  event.action = known->second;
  std::int64_t stream = 0;
  const bool from_outside =
      event.action == Action::empty_cache || event.action == Action::device_full;
  if (!from_outside) {
    TRY(stream, reader.integer("stream", 0));
    TRY(event.address, reader.integer("addr", 0));
    TRY(event.bytes, reader.integer("size", 0));
  }
  if (event.action == Action::oom) {
    TRY(event.device_free, reader.integer("device_free", -1, -1));
  }
  streams.push_back(stream);
  return event;
}

}  // namespace

Result<AllocatorHistory> read_allocator_history(const std::filesystem::path& file) {
  const std::string name = file.string();
  Lines lines(file);
  if (!lines.is_open()) return fail(name, "", "cannot be opened; expected a readable file");

  AllocatorHistory history;
  std::vector<std::int64_t> segment_streams, event_streams;
  std::string line;
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
      history.events.push_back(event);
    }
  }
  if (lines.is_broken()) {
    return fail(
        name, "line " + std::to_string(lines.number()),
        "breaks off, is no text or has more than 64 MiB; expected a whole file of JSON lines");
  }
  if (lines.number() <= 1) return fail(name, "", "is empty; expected a header line");
  number_streams(history, segment_streams, event_streams);
  if (history.streams.size() > kMostStreams) {
    return fail(name, "",
                "names " + std::to_string(history.streams.size()) + " streams; expected at most " +
                    std::to_string(kMostStreams));
  }
  history.capacity = recorded_capacity(history);
  return history;
}

#undef TRY

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

void number_streams(AllocatorHistory& history, const std::vector<std::int64_t>& of_segments,
                    const std::vector<std::int64_t>& of_events) {
  std::vector<std::int64_t>& all = history.streams;
  all = of_segments;
  all.insert(all.end(), of_events.begin(), of_events.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto rank = [&](std::int64_t stream) {
    return static_cast<int>(std::lower_bound(all.begin(), all.end(), stream) - all.begin());
  };
  for (std::size_t i = 0; i < of_segments.size(); ++i)
    history.start[i].stream = rank(of_segments[i]);
  for (std::size_t i = 0; i < of_events.size(); ++i) history.events[i].stream = rank(of_events[i]);
}

RecordedFigures recorded_figures(const AllocatorHistory& history) {
  RecordedFigures figures;
  std::int64_t reserved = 0;
  for (const SegmentState& segment : history.start) {
    reserved = bounded_sum(reserved, segment.bytes);
  }
  figures.peak_reserved = reserved;
  for (const HistoryEvent& event : history.events) {
    if (event.action == Action::segment_alloc || event.action == Action::segment_map) {
      reserved = bounded_sum(reserved, event.bytes);
      ++figures.segments_allocated;
    } else if (event.action == Action::segment_free || event.action == Action::segment_unmap) {
      reserved = bounded_sum(reserved, -event.bytes);
      ++figures.segments_released;
    }
    figures.allocations += event.action == Action::alloc;
    figures.out_of_memory += event.action == Action::oom;
    figures.peak_reserved = std::max(figures.peak_reserved, reserved);
  }
  return figures;
}

std::optional<std::int64_t> recorded_capacity(const AllocatorHistory& history) {
  std::int64_t reserved = 0;
  for (const SegmentState& segment : history.start) {
    reserved = bounded_sum(reserved, segment.bytes);
  }
  std::optional<std::int64_t> capacity;
  bool was_full = false, has_sizes = true;
  for (const HistoryEvent& event : history.events) {
    const bool reserves =
        event.action == Action::segment_alloc || event.action == Action::segment_map;
    const bool releases =
        event.action == Action::segment_free || event.action == Action::segment_unmap;
    reserved = bounded_sum(reserved, reserves ? event.bytes : releases ? -event.bytes : 0);
    has_sizes &= !reserves || event.bytes > 0;
    was_full |= event.action == Action::device_full;
    if (event.action != Action::oom) continue;
    const std::int64_t room =
        event.device_free >= 0 ? event.device_free : std::max<std::int64_t>(event.bytes, 1) - 1;
    capacity = std::min(capacity.value_or(AllocatorRules::kUnlimited), bounded_sum(reserved, room));
  }
  if (!capacity && !(was_full && has_sizes)) return std::nullopt;
  return std::max(capacity.value_or(0), recorded_figures(history).peak_reserved);
}

}  // namespace foreshard::traces
