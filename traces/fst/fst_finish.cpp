#include "traces/fst/fst_finish.hpp"

#include <filesystem>
#include <system_error>

#include "traces/fst/fst_file.hpp"
#include "traces/fst/fst_schema.hpp"

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
    INSERT INTO DROPPED SELECT * FROM recording.DROPPED;
    INSERT INTO DROPPED_RANGES SELECT * FROM recording.DROPPED_RANGES;
    INSERT INTO COUNTERS SELECT * FROM recording.COUNTERS;
    INSERT INTO COUNTER_SAMPLES SELECT * FROM recording.COUNTER_SAMPLES;)");
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
              ? event.run(record.start_ns, record.end_ns, record.lane, record.step,
                          record.attributes, record.value, std::int64_t{0})
              : memory.run(record.start_ns, rank_of.at(static_cast<std::size_t>(record.lane)),
                           record.action, record.step, record.end_ns, record.value,
                           record.attributes);
      if (!is_written) return false;
    }
  }
  return status == SQLITE_DONE;
}

// SQLite refuses a link in any part of the name; those in the folder's are the user's own.
std::string without_links(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::canonical(parent_folder(path), error);
  return error ? path : (folder / fs::path(path).filename()).string();
}

}  // namespace

Database open_own(const std::string& path) {
  return Database(without_links(path), SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW);
}

Result<AtomicFile> with_rows(const std::string& path) {
  auto file = AtomicFile::create(path);
  if (!file) return file;
  Database rows = open_own(file->temporary());
  const auto failed = [&]() {
    return fail(path, "",
                "its rows cannot be written (" + rows.error() + "); expected enough disk space");
  };
  // Nobody else has this file yet: no journal is needed, and it is synchronised at the end.
  if (!rows.is_open() || !rows.run("PRAGMA page_size=16384; PRAGMA journal_mode=OFF;"
                                   "PRAGMA synchronous=OFF; PRAGMA cache_size=-16384")) {
    return failed();
  }
  {
    Statement attach(rows.handle(), "ATTACH ? AS recording");
    if (!attach.run(std::string_view(without_links(path)))) return failed();
  }
  if (!rows.run("BEGIN") || !create_schema(rows) || !copy_tables(rows) || !unpack_records(rows) ||
      !rows.run("COMMIT")) {
    return failed();
  }
  return file;
}

Result<void> commit_trace(AtomicFile& file, const std::string& path) {
  std::error_code ignored;
  for (const char* suffix : {"-wal", "-shm", "-journal"}) fs::remove(path + suffix, ignored);
  return file.commit();
}

}  // namespace foreshard::traces
