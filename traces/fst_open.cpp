#include "traces/fst_open.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace foreshard::traces {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected =
    "expected a trace (.fst) written by foreshard, or first foreshard import for another recording";
constexpr std::string_view kMagic("SQLite format 3\0", 16);

std::int64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(size);
}

// Reads from the file, which opening alone does not.
bool answers(Database& database) {
  if (!database.is_open()) return false;
  Statement count(database.handle(), "SELECT count(*) FROM sqlite_schema");
  return count.step() == SQLITE_ROW;
}

bool cannot_open(Database& database) {
  const int code = database.handle() ? sqlite3_errcode(database.handle()) & 0xFF : SQLITE_CANTOPEN;
  return code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_IOERR ||
         code == SQLITE_PERM || code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

}  // namespace

std::string uri(const std::string& path, const char* query) {
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
  return text + query;
}

void make_safe(Database& database) {
  sqlite3* const handle = database.handle();
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  database.run("PRAGMA cell_size_check=ON; PRAGMA busy_timeout=2000");
}

void OpenedTrace::RemoveFolder::operator()(const std::string* folder) const {
  std::error_code ignored;
  fs::remove_all(*folder, ignored);
  delete folder;
}

Result<bool> begins_as_sqlite(const std::string& path, const std::string& expected) {
  std::error_code error;
  if (!fs::exists(path, error)) return fail(path, "", "no such file; " + expected);
  if (!fs::is_regular_file(path, error)) return fail(path, "", "is no file; " + expected);
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(path, "", "cannot be read; expected a file that can be");
  char magic[16] = {};
  file.read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) == kMagic;
}

Result<OpenedTrace> open_trace(const std::string& path) {
  const auto is_database = begins_as_sqlite(path, kExpected);
  if (!is_database) return tl::unexpected(is_database.error());
  if (!*is_database) {
    return fail(path, "",
                std::string("is no trace (its first bytes are not SQLite's); ") + kExpected);
  }

  std::error_code error;
  OpenedTrace opened;
  const std::string log = path + "-wal";
  opened.bytes = size_of(path) + size_of(log);
  opened.database = Database(path, SQLITE_OPEN_READONLY);
  make_safe(opened.database);
  if (!answers(opened.database) && cannot_open(opened.database)) {
    // A read-only folder: SQLite cannot make the shared memory file a write-ahead log needs.
    if (size_of(log) == 0) {
      opened.database = Database(uri(path, "?immutable=1"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    } else {
      std::string folder = (fs::temp_directory_path(error) / "foreshard-XXXXXX").string();
      if (error || ::mkdtemp(folder.data()) == nullptr) {
        return fail(path, "",
                    "cannot be read where it is, nor copied; expected a temporary folder");
      }
      opened.copy.reset(new std::string(folder));
      const std::string copy = (fs::path(folder) / "copy.fst").string();
      fs::copy_file(path, copy, error);
      if (!error) fs::copy_file(log, copy + "-wal", error);
      if (error) {
        return fail(path, "",
                    "cannot be read where it is, nor copied (" + error.message() +
                        "); expected room in the temporary folder");
      }
      opened.database = Database(copy, SQLITE_OPEN_READWRITE);
    }
    make_safe(opened.database);
  }
  if (!answers(opened.database)) {
    return fail(path, "", "is damaged (" + opened.database.error() + "); " + kExpected);
  }
  return opened;
}

}  // namespace foreshard::traces
