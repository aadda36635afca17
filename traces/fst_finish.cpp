#include "traces/fst_finish.hpp"

#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "traces/fst_file.hpp"
#include "traces/fst_schema.hpp"

namespace foreshard::traces {
namespace {

namespace fs = std::filesystem;

bool copy_tables(Database& rows) {
  return rows.run(R"(
    INSERT INTO META_DATA_EXPORT SELECT * FROM recording.META_DATA_EXPORT;
    INSERT INTO StringIds SELECT * FROM recording.StringIds;
    INSERT INTO LANES SELECT * FROM recording.LANES;
    INSERT INTO EVENT_FACTS SELECT * FROM recording.EVENT_FACTS;
    INSERT INTO EVENT_RECORDS SELECT * FROM recording.EVENT_RECORDS;
    INSERT INTO MEMORY_FACTS SELECT * FROM recording.MEMORY_FACTS;
    INSERT INTO MEMORY_RECORDS SELECT * FROM recording.MEMORY_RECORDS;
    INSERT INTO STEPS SELECT * FROM recording.STEPS ORDER BY rank, step;
    INSERT INTO DROPPED SELECT * FROM recording.DROPPED;)");
}

bool unpack_records(Database& rows) {
  std::vector<std::int32_t> rank_of;  // lane -> rank
  Statement lanes(rows.handle(), "SELECT rank FROM LANES ORDER BY id");
  while (lanes.step() == SQLITE_ROW) rank_of.push_back(static_cast<std::int32_t>(lanes.integer(0)));

  Statement event(rows.handle(), kInsertEvent), memory(rows.handle(), kInsertMemory);
  Statement packed(rows.handle(), "SELECT records FROM recording.PACKED_RECORDS ORDER BY id");
  std::vector<PackedRecord> records;
  int status = SQLITE_OK;
  while ((status = packed.step()) == SQLITE_ROW) {
    records.clear();
    if (!unpack(packed.blob(0), records)) return false;
    for (const PackedRecord& record : records) {
      const bool is_written =
          record.action == PackedRecord::kEvent
              ? event.run(record.start_ns, record.end_ns, record.lane, record.step, record.facts,
                          record.value, std::int64_t{0})
              : memory.run(record.start_ns, rank_of.at(static_cast<std::size_t>(record.lane)),
                           record.action, record.step, record.end_ns, record.value, record.facts);
      if (!is_written) return false;
    }
  }
  return status == SQLITE_DONE;
}

}  // namespace

std::string temporary_path(const std::string& path) {
  const fs::path file(path);
  return (file.parent_path() /
          ("." + file.filename().string() + "." + std::to_string(::getpid()) + ".tmp"))
      .string();
}

Result<void> write_rows(const std::string& path, const std::string& target) {
  std::error_code ignored;
  fs::remove(target, ignored);
  Database rows(target, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  const auto failed = [&]() {
    const std::string reason = rows.error();
    rows.close();
    fs::remove(target, ignored);
    return fail(path, "", "its rows cannot be written (" + reason + "); expected room for them");
  };
  // Nobody else knows this file yet: no journal is needed, and it is synchronised at the end.
  if (!rows.is_open() || !rows.run("PRAGMA page_size=16384; PRAGMA journal_mode=OFF;"
                                   "PRAGMA synchronous=FULL; PRAGMA cache_size=-16384")) {
    return failed();
  }
  {
    Statement attach(rows.handle(), "ATTACH ? AS recording");
    if (!attach.run(std::string_view(path))) return failed();
  }
  if (!rows.run("BEGIN") || !create_schema(rows) || !copy_tables(rows) || !unpack_records(rows) ||
      !rows.run("COMMIT")) {
    return failed();
  }
  return {};
}

Result<void> replace_file(const std::string& from, const std::string& to) {
  std::error_code error;
  for (const char* suffix : {"-wal", "-shm", "-journal"}) fs::remove(to + suffix, error);
  fs::rename(from, to, error);
  if (error) {
    return fail(to, "", "cannot be created (" + error.message() + "); expected a path to write to");
  }
  return {};
}

}  // namespace foreshard::traces
