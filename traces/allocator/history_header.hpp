// The header line of an allocation history: the allocator's settings, the segments that existed at the start,
// and the names of the streams where events name theirs. Private to this folder's reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/allocator/allocator_history.hpp"
#include "traces/input/json_object.hpp"

namespace foreshard::traces {

constexpr const char* kExpectedHistory =
    "an allocation history (JSON lines) or a memory snapshot (pickle)";

struct HistoryHeader {
  AllocatorRules rules;
  std::vector<SegmentState> segments;
  std::vector<RecordedStream> segment_streams;
  std::vector<std::string> streams;  // empty: streams are numbers
};

// `line`: its text, for messages.
Result<HistoryHeader> read_header(const JsonObject& reader, std::string_view line);

// What segments and events share. A stream that has a name is its place among the names.
Result<std::int64_t> read_stream(const JsonObject& reader, const std::vector<std::string>& names);
Result<PoolId> read_pool(const JsonObject& reader, const char* key);  // [0, 0] where it is missing

}  // namespace foreshard::traces
