// Headers of allocation histories.
#include "traces/allocator/history_header.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "traces/input/sniff_file_type.hpp"
#include "traces/input/try.hpp"

namespace foreshard::traces {
namespace {

constexpr std::array<std::string_view, 3> kHeaderKeys{"device", "settings", "initial_segments"};

Result<AllocatorRules> read_rules(const JsonObject& header) {
  AllocatorRules rules;
  const auto found = header.json().find("settings");
  if (found == header.json().end()) return rules;
  if (!found->is_object()) return header.wrong("settings", "is not an object; expected one");
  const JsonObject settings(header.file(), header.path() + ": settings", *found);

  FORESHARD_TRY(rules.expandable_segments, settings.boolean("expandable_segments", false));
  std::int64_t split = -1;
  FORESHARD_TRY(split, settings.integer("max_split_size", -1, -1));
  rules.max_split_size = split > 0 ? split : AllocatorRules::kUnlimited;
  const auto read_share = [&](const char* key, double& share) -> Result<void> {
    const auto given = found->find(key);
    if (given == found->end()) return {};
    if (!given->is_number() || given->get<double>() < 0.0 || given->get<double>() > 1.0) {
      return settings.wrong(key, JsonObject::is(*given) + "; expected a number from 0 to 1");
    }
    share = given->get<double>();
    return {};
  };
  auto read = read_share("garbage_collection_threshold", rules.garbage_collection_threshold);
  if (read) read = read_share("per_process_memory_fraction", rules.memory_fraction);
  if (!read) return tl::unexpected(read.error());
  if (const auto table = found->find("roundup_power2_divisions"); table != found->end()) {
    if (!table->is_object()) {
      return settings.wrong("roundup_power2_divisions", "is not an object; expected one");
    }
    const JsonObject divisions(header.file(), settings.path() + ": roundup_power2_divisions",
                               *table);
    AllocatorRules::Divisions values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string mebibytes = std::to_string(std::int64_t{1} << i);
      FORESHARD_TRY(values[i], divisions.integer(mebibytes.c_str(), 0, 0));
      if (values[i] != 0 && !std::has_single_bit(static_cast<std::uint64_t>(values[i]))) {
        return divisions.wrong(
            mebibytes, "is " + std::to_string(values[i]) + "; expected 0 or a power of two");
      }
    }
    rules.round_to_power2_divisions(values);
  }
  return rules;
}

Result<SegmentState::Part> read_block(const JsonObject& block) {
  SegmentState::Part part;
  FORESHARD_TRY(part.address, block.integer("address", 0));
  FORESHARD_TRY(part.bytes, block.integer("size", 1));
  FORESHARD_TRY(part.requested, block.integer("requested_size", 0, 0));
  std::string state;
  FORESHARD_TRY(state, block.word("state"));
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

Result<SegmentState> read_segment(const JsonObject& reader, HistoryHeader& header) {
  SegmentState segment;
  FORESHARD_TRY(segment.address, reader.integer("address", 0));
  FORESHARD_TRY(segment.bytes, reader.integer("total_size", 1));
  RecordedStream stream;
  FORESHARD_TRY(stream.stream, read_stream(reader, header.streams));
  FORESHARD_TRY(stream.pool, read_pool(reader, "segment_pool_id"));
  header.segment_streams.push_back(stream);
  FORESHARD_TRY(segment.expandable, reader.boolean("is_expandable", false));
  std::string type;
  FORESHARD_TRY(type, reader.word("type"));
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

// A first line that is not a header usually belongs to a recording of another kind. One that names
// the streams describes the run too, in members of any name.
Result<void> check_header(const JsonObject& header, std::string_view line) {
  const auto& json = header.json();
  if (json.contains("action")) {
    return header.wrong("", "is an event; expected a header with the settings");
  }
  if (json.contains("streams")) return {};
  if (!json.contains("settings") && !json.contains("initial_segments")) {
    return header.wrong("", sniff_content(line) +
                                ", not a header with settings or initial_segments; " + "expected " +
                                kExpectedHistory);
  }
  for (const auto& [key, value] : json.items()) {
    if (std::find(kHeaderKeys.begin(), kHeaderKeys.end(), key) != kHeaderKeys.end()) continue;
    return header.wrong(excerpt(key),
                        "is not a key of a header; expected device, settings and initial_segments");
  }
  return {};
}

Result<std::vector<std::string>> read_streams(const JsonObject& header) {
  std::vector<std::string> streams;
  const auto found = header.json().find("streams");
  if (found == header.json().end()) return streams;
  const bool are_names =
      found->is_array() && !found->empty() && found->size() <= kMaxStreams &&
      std::all_of(found->begin(), found->end(), [](const auto& name) { return name.is_string(); });
  if (!are_names) {
    return header.wrong("streams", JsonObject::is(*found) + "; expected 1 to " +
                                       std::to_string(kMaxStreams) + " names of streams");
  }
  return found->get<std::vector<std::string>>();
}

}  // namespace

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

Result<std::int64_t> read_stream(const JsonObject& reader, const std::vector<std::string>& names) {
  if (names.empty()) return reader.integer("stream", 0);
  std::string name;
  FORESHARD_TRY(name, reader.word("stream"));
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return found - names.begin();
  return reader.wrong("stream",
                      "is \"" + excerpt(name) + "\"; expected one of the streams of the header");
}

Result<HistoryHeader> read_header(const JsonObject& reader, std::string_view line) {
  if (auto checked = check_header(reader, line); !checked) return tl::unexpected(checked.error());
  HistoryHeader header;
  FORESHARD_TRY(header.streams, read_streams(reader));
  FORESHARD_TRY(header.rules, read_rules(reader));
  auto read = reader.each("initial_segments", [&](const JsonObject& segment) -> Result<void> {
    auto state = read_segment(segment, header);
    if (!state) return tl::unexpected(state.error());
    header.segments.push_back(std::move(*state));
    return {};
  });
  if (!read) return tl::unexpected(read.error());
  return header;
}

}  // namespace foreshard::traces
