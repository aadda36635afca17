#include "traces/fst/fst_schema.hpp"

#include "traces/fst/fst_file.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {
namespace {

constexpr std::size_t kDigits = 4;  // so that rows are in order by name

constexpr const char* kCreateTables = R"(
CREATE TABLE META_DATA_EXPORT (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE LANES (id INTEGER PRIMARY KEY, rank INTEGER, device INTEGER, nameId INTEGER);
CREATE TABLE EVENT_FACTS (id INTEGER PRIMARY KEY, kind INTEGER, microStep INTEGER, nameId INTEGER,
  phaseId INTEGER, unitId INTEGER, stableKeyId INTEGER, costKeyId INTEGER, instruction INTEGER,
  bytes INTEGER, costSource INTEGER, costError REAL, groupId INTEGER, sequence INTEGER);
CREATE TABLE EVENT_RECORDS (start INTEGER, "end" INTEGER, laneId INTEGER, step INTEGER,
  factsId INTEGER, cpu INTEGER, correlation INTEGER);
CREATE TABLE MEMORY_FACTS (id INTEGER PRIMARY KEY, onHost INTEGER, requested INTEGER,
  laneId INTEGER, categoryId INTEGER, ownerId INTEGER, phaseId INTEGER, instruction INTEGER,
  stackId INTEGER);
CREATE TABLE MEMORY_RECORDS (start INTEGER, rank INTEGER, action INTEGER, step INTEGER,
  address INTEGER, bytes INTEGER, factsId INTEGER);
CREATE TABLE STEPS (rank INTEGER, step INTEGER, start INTEGER, "end" INTEGER, loss REAL,
  gradientNorm REAL, labelId INTEGER);
CREATE TABLE DROPPED (reason TEXT PRIMARY KEY, records INTEGER) WITHOUT ROWID;
CREATE TABLE DROPPED_RANGES (rank INTEGER, memory INTEGER, start INTEGER, "end" INTEGER,
  records INTEGER);
CREATE TABLE COUNTERS (id INTEGER PRIMARY KEY, rank INTEGER, nameId INTEGER, unitId INTEGER);
CREATE TABLE COUNTER_SAMPLES (counterId INTEGER, start INTEGER, value REAL);
CREATE TABLE PACKED_RECORDS (id INTEGER PRIMARY KEY, records BLOB);
CREATE TABLE ENUM_EVENT_KIND (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE ENUM_MEMORY_ACTION (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE ENUM_COST_SOURCE (id INTEGER PRIMARY KEY, name TEXT);
)";

// Left joins: SQLite leaves out those whose columns a query does not use.
// LOSSES is the former name of DROPPED_RANGES, until 0.2 (docs/file-format.md).
constexpr const char* kCreateViews = R"(
CREATE VIEW LOSSES AS SELECT rank, memory, start, "end", records FROM DROPPED_RANGES;
CREATE VIEW EVENTS AS SELECT e.start, e."end", e."end" - e.start AS duration, l.rank,
  lane.value AS lane, l.device, e.step, f.microStep, k.name AS kind, n.value AS name,
  p.value AS phase, u.value AS unit, s.value AS stableKey, c.value AS costKey, f.instruction,
  f.bytes, nullif(e.cpu, -1) AS cpu, nullif(e.correlation, 0) AS correlation,
  o.name AS costSource, nullif(f.costError, 0) AS costError,
  g.value AS processGroup, nullif(f.sequence, 0) AS sequence
  FROM EVENT_RECORDS e JOIN EVENT_FACTS f ON f.id = e.factsId JOIN LANES l ON l.id = e.laneId
  LEFT JOIN StringIds lane ON lane.id = l.nameId LEFT JOIN ENUM_EVENT_KIND k ON k.id = f.kind
  LEFT JOIN StringIds n ON n.id = f.nameId LEFT JOIN StringIds p ON p.id = f.phaseId
  LEFT JOIN StringIds u ON u.id = f.unitId LEFT JOIN StringIds s ON s.id = f.stableKeyId
  LEFT JOIN StringIds g ON g.id = f.groupId
  LEFT JOIN StringIds c ON c.id = f.costKeyId
  LEFT JOIN ENUM_COST_SOURCE o ON o.id = f.costSource;
CREATE VIEW MEMORY_EVENTS AS SELECT m.start, m.rank, a.name AS action, f.onHost, m.step, m.address,
  m.bytes, f.requested, pool.value AS pool, c.value AS category, o.value AS owner,
  p.value AS phase, f.instruction, k.value AS stack, m.rowid AS id
  FROM MEMORY_RECORDS m JOIN MEMORY_FACTS f ON f.id = m.factsId
  LEFT JOIN ENUM_MEMORY_ACTION a ON a.id = m.action LEFT JOIN LANES l ON l.id = f.laneId
  LEFT JOIN StringIds pool ON pool.id = l.nameId LEFT JOIN StringIds c ON c.id = f.categoryId
  LEFT JOIN StringIds o ON o.id = f.ownerId LEFT JOIN StringIds p ON p.id = f.phaseId
  LEFT JOIN StringIds k ON k.id = f.stackId;
CREATE VIEW COUNTER_VALUES AS SELECT s.start,
  lead(s.start) OVER (PARTITION BY s.counterId ORDER BY s.start, s.rowid) AS "end", c.rank,
  n.value AS counter, u.value AS unit, s.value
  FROM COUNTER_SAMPLES s JOIN COUNTERS c ON c.id = s.counterId
  LEFT JOIN StringIds n ON n.id = c.nameId LEFT JOIN StringIds u ON u.id = c.unitId;
CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT e.start, e."end", l.rank AS deviceId,
  e.laneId AS streamId,
  ifnull(nullif(e.correlation, 0), f.instruction) AS correlationId, f.nameId AS shortName,
  f.nameId AS demangledName
  FROM EVENT_RECORDS e JOIN EVENT_FACTS f ON f.id = e.factsId JOIN LANES l ON l.id = e.laneId
  WHERE f.kind IN (3, 4);
CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS SELECT e.start, e."end", l.rank AS deviceId,
  e.laneId AS streamId,
  ifnull(nullif(e.correlation, 0), f.instruction) AS correlationId, f.bytes
  FROM EVENT_RECORDS e JOIN EVENT_FACTS f ON f.id = e.factsId JOIN LANES l ON l.id = e.laneId
  WHERE f.kind = 5;
CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS SELECT e.start, e."end",
  ifnull(nullif(e.correlation, 0), f.instruction) AS correlationId, e.laneId AS globalTid, f.nameId
  FROM EVENT_RECORDS e JOIN EVENT_FACTS f ON f.id = e.factsId WHERE f.kind IN (1, 2, 7, 8);
CREATE VIEW NVTX_EVENTS AS SELECT e.start, e."end", 59 AS eventType, n.value AS text,
  f.nameId AS textId, e.laneId AS globalTid
  FROM EVENT_RECORDS e JOIN EVENT_FACTS f ON f.id = e.factsId JOIN StringIds n ON n.id = f.nameId
  WHERE f.kind = 0;
CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS AS SELECT m.start, m.rank AS deviceId, m.address, m.bytes,
  m.action AS memoryOperationType, f.laneId AS streamId, f.instruction AS correlationId
  FROM MEMORY_RECORDS m JOIN MEMORY_FACTS f ON f.id = m.factsId
  WHERE m.action IN (0, 1) AND NOT f.onHost;
)";

// The views above select by number.
static_assert(static_cast<int>(EventKind::range) == 0 && static_cast<int>(EventKind::host) == 1 &&
              static_cast<int>(EventKind::host_wait) == 2 &&
              static_cast<int>(EventKind::compute) == 3 &&
              static_cast<int>(EventKind::communication) == 4 &&
              static_cast<int>(EventKind::memory) == 5 &&
              static_cast<int>(EventKind::host_compute) == 7 &&
              static_cast<int>(EventKind::runtime) == 8 &&
              static_cast<int>(MemoryAction::alloc) == 0 &&
              static_cast<int>(MemoryAction::free_requested) == 1);

}  // namespace

const std::map<std::string, std::vector<std::string>>& required_columns() {
  static const std::map<std::string, std::vector<std::string>> kColumns{
      {"META_DATA_EXPORT", {"name", "value"}},
      {"StringIds", {"id", "value"}},
      {"LANES", {"id", "rank", "device", "nameId"}},
      {"EVENT_FACTS",
       {"id", "kind", "microStep", "nameId", "phaseId", "unitId", "stableKeyId", "costKeyId",
        "instruction", "bytes"}},
      {"EVENT_RECORDS", {"start", "end", "laneId", "step", "factsId", "cpu", "correlation"}},
      {"MEMORY_FACTS",
       {"id", "onHost", "requested", "laneId", "categoryId", "ownerId", "phaseId", "instruction",
        "stackId"}},
      {"MEMORY_RECORDS", {"start", "rank", "action", "step", "address", "bytes", "factsId"}},
      {"STEPS", {"rank", "step", "start", "end", "loss", "gradientNorm"}},
      {"DROPPED", {"reason", "records"}},
      {"PACKED_RECORDS", {"id", "records"}}};
  return kColumns;
}

const std::vector<std::string>& added_columns(const std::string& table) {
  static const std::map<std::string, std::vector<std::string>> kColumns{
      {"EVENT_FACTS", {"costSource", "costError", "groupId", "sequence"}}, {"STEPS", {"labelId"}}};
  static const std::vector<std::string> kNoColumns;
  const auto found = kColumns.find(table);
  return found == kColumns.end() ? kNoColumns : found->second;
}

const std::map<std::string, std::vector<std::string>>& added_tables() {
  static const std::vector<std::string> kDroppedRanges{"rank", "memory", "start", "end", "records"};
  static const std::map<std::string, std::vector<std::string>> kTables{
      {"DROPPED_RANGES", kDroppedRanges},
      {"LOSSES", kDroppedRanges},  // the name that it has in files of earlier writers
      {"COUNTERS", {"id", "rank", "nameId", "unitId"}},
      {"COUNTER_SAMPLES", {"counterId", "start", "value"}}};
  return kTables;
}

std::string piece_name(const std::string& key, std::size_t number) {
  if (number == 1) return key;
  std::string text = std::to_string(number);
  if (text.size() < kDigits) text.insert(0, kDigits - text.size(), '0');
  return key + "#" + text;
}

std::string continued_key(std::string_view name) {
  const std::size_t mark = name.rfind('#');
  if (mark == name.npos || name.size() != mark + 1 + kDigits) return "";
  const auto digits = name.substr(mark + 1);
  const bool is_number = digits.find_first_not_of("0123456789") == digits.npos;
  return is_number ? std::string(name.substr(0, mark)) : "";
}

bool create_schema(Database& database) {
  const std::string identity = "PRAGMA application_id=" + std::to_string(kApplicationId) +
                               "; PRAGMA user_version=" + std::to_string(kFormatVersion);
  if (!database.run(identity.c_str())) return false;
  if (!database.run(kCreateTables) || !database.run(kCreateViews)) return false;
  Statement kind(database.handle(), "INSERT INTO ENUM_EVENT_KIND VALUES (?,?)");
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(EventKind::kCount); ++i) {
    if (!kind.run(i, name(static_cast<EventKind>(i)))) return false;
  }
  Statement source(database.handle(), "INSERT INTO ENUM_COST_SOURCE VALUES (?,?)");
  for (std::int32_t i = 1; i < static_cast<std::int32_t>(CostSource::kCount); ++i) {
    if (!source.run(i, name(static_cast<CostSource>(i)))) return false;
  }
  Statement action(database.handle(), "INSERT INTO ENUM_MEMORY_ACTION VALUES (?,?)");
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(MemoryAction::kCount); ++i) {
    if (!action.run(i, name(static_cast<MemoryAction>(i)))) return false;
  }
  return true;
}

}  // namespace foreshard::traces
