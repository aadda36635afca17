#include "traces/sqlite/untrusted_database.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "models/base/input_file.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/input/sniff_file_type.hpp"

namespace foreshard::traces {
namespace {

namespace fs = std::filesystem;

const std::string kRowNumber = "rowid";
constexpr std::string_view kMagic("SQLite format 3\0", 16);
// The longest value that is read, and the longest row. A trace's longest is a plan, a model or a
// packed block of records; SQLite's own statements need the lower bound.
constexpr std::int64_t kLeastLongest = 64 << 10, kMaxLongest = 16 << 20;
// A row takes at least this many bytes of its page; more rows mean pages that are read twice.
constexpr std::int64_t kLeastBytesOfARow = 4;
// Steps of SQLite's machine between two counts of them, and how many all queries together may take:
// a row takes some two for each of its columns.
constexpr int kStepsAtATime = 10'000;
constexpr std::int64_t kSteps = 20'000'000, kStepsPerByte = 32;

std::string quoted_name(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

std::int64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(size);
}

enum class Packing { none, gzip };

// By the first bytes of a file, and of what it inflates to; an error where that is no database.
Result<Packing> database_packing(const std::string& path, const std::string& expected) {
  auto file = InputFile::open_regular(path, expected);
  if (!file) return tl::unexpected(file.error());
  char magic[16] = {};
  file->read(magic, sizeof magic);
  if (std::string_view(magic, sizeof magic) == kMagic) return Packing::none;
  const bool is_gzip = std::string_view(magic, 2) == "\x1f\x8b";
  if (is_gzip && first_bytes(path, kMagic.size(), expected) == kMagic) return Packing::gzip;
  return fail(path, "",
              sniff_file(path) + (is_gzip ? " in gzip; expected " : "; expected ") + expected);
}

Result<std::string> inflated_file(const std::string& path, const std::string& expected,
                                  const std::stop_token& stop) {
  constexpr std::size_t kBlock = 1 << 20;
  const auto source =
      open_bytes(path, expected, [stop](std::size_t) { return !stop.stop_requested(); });
  if (!source) return tl::unexpected(source.error());
  std::string bytes;
  for (std::size_t read = kBlock; read == kBlock;) {
    const std::size_t size = bytes.size();
    bytes.resize(size + kBlock);
    read = (*source)->read(bytes.data() + size, kBlock);
    bytes.resize(size + read);
  }
  const std::string incomplete_reason = (*source)->incomplete_reason();
  if (!incomplete_reason.empty())
    return fail(path, "", incomplete_reason + "; expected " + expected);
  return bytes;
}

// Without a log: SQLite refuses a database in memory whose header mentions one.
void forget_log(std::string& database) {
  constexpr std::size_t kWriteVersion = 18, kReadVersion = 19;
  constexpr char kWithoutLog = 1;
  database[kWriteVersion] = database[kReadVersion] = kWithoutLog;
}

// A path as SQLite's URI of a file that does not change.
std::string immutable_uri(const std::string& path) {
  std::error_code error;
  std::string text = "file:";
  for (const char c : fs::absolute(path, error).string()) {
    constexpr const char* kHex = "0123456789ABCDEF";
    if (c == '%' || c == '?' || c == '#') {
      text += {'%', kHex[(c >> 4) & 15], kHex[c & 15]};
    } else {
      text += c;
    }
  }
  return text + "?immutable=1";
}

bool cannot_open(const Database& database) {
  const int code = database.handle() ? sqlite3_errcode(database.handle()) & 0xFF : SQLITE_CANTOPEN;
  return code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_IOERR ||
         code == SQLITE_PERM || code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

}  // namespace

void UntrustedDatabase::RemoveFolder::operator()(const std::string* folder) const {
  std::error_code ignored;
  fs::remove_all(*folder, ignored);
  delete folder;
}

// Ends a query that takes more steps than there is reason for, or that nobody waits for any more.
int UntrustedDatabase::lose_patience(void* patience) {
  auto& [steps_left, stop] = *static_cast<Patience*>(patience);
  steps_left -= kStepsAtATime;
  return steps_left < 0 || stop.stop_requested() ? 1 : 0;
}

bool UntrustedDatabase::has(const std::string& table, const std::string& column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.contains(column);
}

void UntrustedDatabase::make_safe() {
  sqlite3* const handle = database_.handle();
  if (handle == nullptr) return;
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  database_.run("PRAGMA cell_size_check=ON; PRAGMA busy_timeout=2000");
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  set_limits();
  sqlite3_progress_handler(handle, kStepsAtATime, lose_patience, patience_.get());
}

void UntrustedDatabase::set_limits() {
  // No value is longer than its file, whatever length it claims.
  const auto longest = std::clamp(bytes_, kLeastLongest, kMaxLongest);
  sqlite3_limit(database_.handle(), SQLITE_LIMIT_LENGTH, static_cast<int>(longest));
  patience_->steps_left = kSteps + kStepsPerByte * bytes_;
}

// A file may be longer than its pages, by a hole that takes no room: only those count.
void UntrustedDatabase::count_pages() {
  const auto answer = [&](const char* pragma) {
    Statement query(database_.handle(), pragma);
    return query.step() == SQLITE_ROW ? query.integer(0) : 0;
  };
  bytes_ = std::min(bytes_, answer("PRAGMA page_count") * answer("PRAGMA page_size"));
  set_limits();
}

// Reads from the file, which opening alone does not.
bool UntrustedDatabase::answers() {
  if (!database_.is_open()) return false;
  Statement count(database_.handle(), "SELECT count(*) FROM sqlite_schema");
  return count.step() == SQLITE_ROW;
}

Result<UntrustedDatabase> UntrustedDatabase::opened(const Connect& connect, std::int64_t bytes,
                                                    Copy copy, const Wanted& wanted) {
  UntrustedDatabase out;
  out.copy_ = std::move(copy);
  out.patience_ = std::make_unique<Patience>(Patience{0, wanted.stop});
  out.bytes_ = bytes;
  const auto open = [&] {
    out.database_ = connect();
    out.make_safe();
  };
  open();
  if (!out.answers() && wanted.cut_short == CutShort::read) {
    // SQLite refuses a file with fewer pages than its header states, unless its schema may be written;
    // nothing is written to a file that is opened for reading.
    open();
    sqlite3_db_config(out.database_.handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    out.database_.run("PRAGMA writable_schema=ON");
    out.is_cut_short_ = true;
  }
  if (!out.answers()) {
    return fail(wanted.name, "",
                "is damaged (" + out.database_.error() + "); expected " + wanted.expected);
  }
  out.count_pages();
  out.read_schema();
  return out;
}

Result<UntrustedDatabase> UntrustedDatabase::open(const std::string& path,
                                                  const std::string& expected, CutShort cut_short,
                                                  std::stop_token stop) {
  const auto packing = database_packing(path, expected);
  if (!packing) return tl::unexpected(packing.error());
  if (*packing == Packing::gzip) return open_gzip(path, expected, cut_short, stop);
  const Wanted wanted{path, expected, cut_short, std::move(stop)};
  std::error_code error;
  const std::string log = path + "-wal";
  const std::int64_t bytes = size_of(path) + size_of(log);
  const Connect as_it_stands = [&path] {
    return Database(immutable_uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  };
  // Without a log nobody is writing: SQLite need not lock the file, nor make one beside it.
  if (!fs::exists(log, error)) {
    return opened(as_it_stands, bytes, nullptr, wanted);
  }
  const Connect with_its_log = [&path] { return Database(path, SQLITE_OPEN_READONLY); };
  {
    UntrustedDatabase attempt;
    attempt.patience_ = std::make_unique<Patience>();
    attempt.database_ = with_its_log();
    attempt.make_safe();
    if (attempt.answers() || !cannot_open(attempt.database_)) {
      return opened(with_its_log, bytes, nullptr, wanted);
    }
  }
  // A read-only folder: SQLite cannot make the shared memory file that a log needs.
  if (size_of(log) == 0) return opened(as_it_stands, bytes, nullptr, wanted);
  std::string folder = (fs::temp_directory_path(error) / "foreshard-XXXXXX").string();
  if (error || ::mkdtemp(folder.data()) == nullptr) {
    return fail(
        path, "",
        "cannot be read in place, and not copied either; expected a writable temporary folder");
  }
  Copy copy(new std::string(folder));
  const std::string copied = (fs::path(folder) / "copy.fst").string();
  fs::copy_file(path, copied, error);
  if (!error) fs::copy_file(log, copied + "-wal", error);
  if (error) {
    return fail(path, "",
                "cannot be read in place, and not copied either (" + error.message() +
                    "); expected enough space in the temporary folder");
  }
  return opened([&copied] { return Database(copied, SQLITE_OPEN_READWRITE); }, bytes,
                std::move(copy), wanted);
}

Result<UntrustedDatabase> UntrustedDatabase::open_in_memory(std::string_view bytes,
                                                            const std::string& name,
                                                            const std::string& expected,
                                                            CutShort cut_short) {
  const auto connect = [&] {
    Database database(":memory:", SQLITE_OPEN_READWRITE);
    // Not written to, for it is read-only.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    sqlite3_deserialize(database.handle(), "main", data, size, size, SQLITE_DESERIALIZE_READONLY);
    return database;
  };
  return opened(connect, static_cast<std::int64_t>(bytes.size()), nullptr,
                {name, expected, cut_short, {}});
}

Result<UntrustedDatabase> UntrustedDatabase::open_gzip(const std::string& path,
                                                       const std::string& expected,
                                                       CutShort cut_short,
                                                       const std::stop_token& stop) {
  auto bytes = inflated_file(path, expected, stop);
  if (!bytes) return tl::unexpected(bytes.error());
  if (bytes->size() > kMagic.size() + 4) forget_log(*bytes);
  auto inflated = std::make_unique<const std::string>(std::move(*bytes));
  auto database = open_in_memory(*inflated, path, expected, cut_short);
  if (!database) return database;
  database->inflated_ = std::move(inflated);
  database->patience_->stop = stop;
  return database;
}

void UntrustedDatabase::read_schema() {
  std::vector<std::string> names;
  {
    // Tables with pages of their own: no views, and nothing virtual.
    Statement schema(database_.handle(), "SELECT name, type, rootpage FROM sqlite_schema");
    std::int64_t rows_left = bytes_ / kLeastBytesOfARow;
    int status = SQLITE_OK;
    while ((status = schema.step()) == SQLITE_ROW && rows_left-- > 0) {
      if (schema.text(1) == "table" && schema.integer(2) > 0) names.emplace_back(schema.text(0));
    }
    is_schema_whole_ = status == SQLITE_DONE;
  }
  for (const std::string& table : names) {
    // Generated columns, which would be computed, are not listed here.
    Statement columns(database_.handle(),
                      ("PRAGMA table_info(" + quoted_name(table) + ")").c_str());
    std::set<std::string> found;
    while (columns.step() == SQLITE_ROW) found.emplace(columns.text(1));
    tables_.emplace(table, std::move(found));
  }
}

Statement UntrustedDatabase::select(const std::string& table,
                                    const std::vector<std::string>& columns,
                                    const std::string& rest) const {
  const std::set<std::string>& present = tables_.at(table);
  std::string sql;
  for (const std::string& column : columns) {
    const std::string there = present.contains(column) ? quoted_name(column) : "NULL";
    sql += (sql.empty() ? "SELECT " : ", ") + (column == kRowNumber ? kRowNumber : there);
  }
  sql += " FROM " + quoted_name(table) + " NOT INDEXED" + rest;
  return Statement(database_.handle(), sql.c_str());
}

}  // namespace foreshard::traces
