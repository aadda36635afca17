#include "traces/query/query_database.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sqlite3.h>

#include "models/base/nearest_names.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/input/temporary_folder.hpp"
#include "traces/query/builtin_queries.hpp"
#include "traces/sqlite/sqlite.hpp"

namespace foreshard::traces {
namespace {

namespace fs = std::filesystem;

// Reads and computes, and nothing else.
int only_select(void*, int action, const char*, const char* function, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
      return std::string_view(function) == "load_extension" ? SQLITE_DENY : SQLITE_OK;
    default: return SQLITE_DENY;
  }
}

bool is_name(const std::string& query) {
  return !query.empty() && std::all_of(query.begin(), query.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

Error unknown_name(const std::string& name) {
  std::vector<std::string> names;
  for (const BuiltinQuery& query : builtin_queries()) names.emplace_back(query.name);
  return {"", "query",
          "'" + name +
              "' is not a built-in query; expected SQL, or a name that `foreshard query --list` "
              "prints" +
              did_you_mean(nearest_names(name, names))};
}

QueryCell cell(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL: return std::monostate();
    case SQLITE_INTEGER: return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT: return sqlite3_column_double(statement, column);
    default: {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
      return bytes == nullptr ? std::string() : std::string(bytes, size);
    }
  }
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

}  // namespace

struct QueryDatabase::State {
  Database database;
};

QueryDatabase::QueryDatabase(std::unique_ptr<State> state) : state_(std::move(state)) {}
QueryDatabase::QueryDatabase(QueryDatabase&&) noexcept = default;
QueryDatabase& QueryDatabase::operator=(QueryDatabase&&) noexcept = default;
QueryDatabase::~QueryDatabase() = default;

Result<QueryDatabase> QueryDatabase::create(const Trace& trace) {
  const TemporaryFolder folder("query");
  if (!folder.exists()) {
    return fail("", "TMPDIR", "no temporary folder can be created; expected a writable one");
  }
  // Open files outlive their names: nothing is left behind, however the program ends.
  const std::string path = folder.file("trace.fst");
  if (auto written = write_fst(path, trace); !written) return tl::unexpected(written.error());
  auto state = std::make_unique<State>();
  state->database = Database(path, SQLITE_OPEN_READONLY);
  Database& database = state->database;
  bool is_ready = database.is_open() && database.run("PRAGMA temp_store=MEMORY");
  for (const BuiltinQuery& query : builtin_queries()) {
    const std::string view =
        "CREATE TEMP VIEW " + std::string(query.name) + " AS " + std::string(query.sql);
    is_ready = is_ready && database.run(view.c_str());
  }
  if (!is_ready)
    return fail(path, "",
                database.error() + "; expected enough disk space for a copy of the trace");
  sqlite3_limit(database.handle(), SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_db_config(database.handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_set_authorizer(database.handle(), only_select, nullptr);
  return QueryDatabase(std::move(state));
}

Result<void> QueryDatabase::run(
    const std::string& query,
    const std::function<void(const std::vector<std::string>& columns)>& heading,
    const std::function<bool(const QueryRow& row)>& row) {
  std::string sql = query;
  if (is_name(query)) {
    const auto& known = builtin_queries();
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const BuiltinQuery& each) { return each.name == query; });
    if (found == known.end()) return tl::unexpected(unknown_name(query));
    sql = found->sql;
  }
  sqlite3* const handle = state_->database.handle();
  sqlite3_stmt* compiled = nullptr;
  const char* rest = nullptr;
  const int status =
      sqlite3_prepare_v2(handle, sql.c_str(), static_cast<int>(sql.size() + 1), &compiled, &rest);
  const std::unique_ptr<sqlite3_stmt, Finalize> statement(compiled);
  if (status == SQLITE_AUTH) return fail("", "SQL", "is not allowed; expected a SELECT");
  if (status != SQLITE_OK) {
    return fail("", "SQL", state_->database.error() + "; expected a SELECT of SQLite");
  }
  if (compiled == nullptr) return fail("", "SQL", "is empty; expected a SELECT");
  if (std::string_view(rest).find_first_not_of(" \t\r\n;") != std::string_view::npos) {
    return fail("", "SQL", "contains more than one statement; expected one SELECT");
  }
  const int columns = sqlite3_column_count(compiled);
  std::vector<std::string> names;
  for (int i = 0; i < columns; ++i) names.emplace_back(sqlite3_column_name(compiled, i));
  heading(names);
  int step = SQLITE_DONE;
  QueryRow cells(static_cast<std::size_t>(columns));
  while ((step = sqlite3_step(compiled)) == SQLITE_ROW) {
    for (int i = 0; i < columns; ++i) cells[static_cast<std::size_t>(i)] = cell(compiled, i);
    if (!row(cells)) return {};
  }
  if (step != SQLITE_DONE) return fail("", "SQL", state_->database.error());
  return {};
}

}  // namespace foreshard::traces
