#include "traces/nsys/source.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "traces/fst_open.hpp"

namespace foreshard::traces::nsys {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected =
    "expected an SQLite export of Nsight Systems (nsys export --type sqlite)";
// A row takes at least this many bytes of its page; more rows mean pages that are read twice.
constexpr std::int64_t kLeastBytesOfARow = 8;
// Bounds of the longest value that is read; SQLite's own statements need the lower one.
constexpr std::int64_t kLeastLongest = 64 << 10, kMostLongest = 256 << 20;

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

bool answers(Database& database) {
  if (!database.is_open()) return false;
  Statement count(database.handle(), "SELECT count(*) FROM sqlite_schema");
  return count.step() == SQLITE_ROW;
}

bool is_of_the_tool(const std::string& table) {
  return table.starts_with("CUPTI_ACTIVITY_") || table == "NVTX_EVENTS" || table == "OSRT_API" ||
         table == "CUDA_GPU_MEMORY_USAGE_EVENTS" || table == "META_DATA_EXPORT" ||
         table == "EXPORT_META_DATA";
}

}  // namespace

bool Source::has(const std::string& table, const std::string& column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.contains(column);
}

std::set<std::string> Source::tables() const {
  std::set<std::string> names;
  for (const auto& [name, columns] : tables_) names.insert(name);
  return names;
}

Result<Source> Source::open(const std::string& path) {
  const auto is_database = begins_as_sqlite(path, kExpected);
  if (!is_database) return tl::unexpected(is_database.error());
  if (!*is_database) {
    const bool is_report = path.ends_with(".nsys-rep") || path.ends_with(".qdrep");
    return fail(path, "",
                std::string(is_report ? "is the tool's own format, which only it reads; "
                                      : "is no SQLite database (by its first bytes); ") +
                    kExpected);
  }

  std::error_code error;
  return open(path, static_cast<std::int64_t>(fs::file_size(path, error)), [&] {
    return Database(uri(path, "?immutable=1"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  });
}

Result<Source> Source::open_in_memory(std::string_view bytes, const std::string& name) {
  return open(name, static_cast<std::int64_t>(bytes.size()), [&] {
    Database database(":memory:", SQLITE_OPEN_READWRITE);
    // Not written to, for it is read-only.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    sqlite3_deserialize(database.handle(), "main", data, size, size, SQLITE_DESERIALIZE_READONLY);
    return database;
  });
}

Result<Source> Source::open(const std::string& name, std::int64_t bytes,
                            const std::function<Database()>& connect) {
  Source source;
  source.bytes_ = bytes;
  source.rows_left_ = bytes / kLeastBytesOfARow;
  const auto open = [&] {
    source.database_ = connect();
    make_safe(source.database_);
    // No value is longer than its file, whatever it says of itself.
    const auto longest = std::clamp<std::int64_t>(bytes, kLeastLongest, kMostLongest);
    sqlite3_limit(source.database_.handle(), SQLITE_LIMIT_LENGTH, static_cast<int>(longest));
  };
  open();
  if (!answers(source.database_)) {
    // SQLite refuses a file with fewer pages than its header says, unless its schema may be written;
    // nothing is written to a file that is opened for reading.
    open();
    sqlite3_db_config(source.database_.handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    source.database_.run("PRAGMA writable_schema=ON");
    source.is_cut_short_ = true;
    if (!answers(source.database_)) {
      return fail(name, "", "is damaged (" + source.database_.error() + "); " + kExpected);
    }
  }
  if (auto read = source.read_schema(name); !read) return tl::unexpected(read.error());
  return source;
}

Result<void> Source::read_schema(const std::string& name) {
  std::vector<std::string> names;
  {
    // Tables with pages of their own: no views, and nothing virtual.
    Statement schema(database_.handle(), "SELECT name, type, rootpage FROM sqlite_schema");
    std::int64_t rows_left = bytes_ / kLeastBytesOfARow;
    int status = SQLITE_OK;
    while ((status = schema.step()) == SQLITE_ROW && rows_left-- > 0) {
      if (schema.text(1) == "table" && schema.integer(2) > 0) names.emplace_back(schema.text(0));
    }
    if (status != SQLITE_DONE) ++damage_["sqlite_schema"];
  }
  for (const std::string& table : names) {
    // Generated columns, which would be computed, are not listed here.
    Statement columns(database_.handle(), ("PRAGMA table_info(" + quoted(table) + ")").c_str());
    std::set<std::string> found;
    while (columns.step() == SQLITE_ROW) found.emplace(columns.text(1));
    tables_.emplace(table, std::move(found));
  }
  if (has("EVENT_RECORDS") && has("EVENT_FACTS")) {
    return fail(name, "", std::string("is a trace of foreshard already; ") + kExpected);
  }
  if (std::none_of(names.begin(), names.end(), is_of_the_tool)) {
    return fail(name, "",
                std::string(names.empty() ? "has no tables that can be read; "
                                          : "is a database without tables of the tool; ") +
                    kExpected);
  }
  return {};
}

Statement Source::select(const std::string& table, const std::vector<std::string>& columns) const {
  const std::set<std::string>& present = tables_.at(table);
  std::string sql = "SELECT rowid";
  for (const std::string& column : columns) {
    sql += ", " + (present.contains(column) ? quoted(column) : std::string("NULL"));
  }
  sql += " FROM " + quoted(table) + " NOT INDEXED WHERE rowid > ?";
  return Statement(database_.handle(), sql.c_str());
}

}  // namespace foreshard::traces::nsys
