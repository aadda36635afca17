// SQL asked of a trace: built-in queries answer for every kind of recording and are views, and nothing
// but reading is allowed.
#include "traces/query/query_database.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"
#include "traces/open/read_trace.hpp"
#include "traces/query/builtin_queries.hpp"

namespace foreshard::traces {
namespace {

const std::string kSamples = FORESHARD_SOURCE_DIR "/traces/samples/";

QueryDatabase database_of(const std::string& sample) {
  const auto trace = read_trace(kSamples + sample);
  EXPECT_TRUE(trace) << trace.error().text();
  auto database = QueryDatabase::create(*trace);
  EXPECT_TRUE(database) << database.error().text();
  return std::move(*database);
}

struct Answer {
  std::vector<std::string> columns;
  std::vector<QueryRow> rows;
  std::string error;
};

Answer ask(QueryDatabase& database, const std::string& query) {
  Answer answer;
  const auto done = database.run(
      query, [&](const auto& columns) { answer.columns = columns; },
      [&](const QueryRow& row) {
        answer.rows.push_back(row);
        return true;
      });
  if (!done) answer.error = done.error().text();
  return answer;
}

TEST(QueryDatabase, EveryBuiltinQueryRunsOnEveryKindOfRecording) {
  for (const char* sample : {"drawn_gpu", "drawn_gpu.sqlite", "pytorch_cpu", "snapshot.pickle"}) {
    QueryDatabase database = database_of(sample);
    for (const BuiltinQuery& query : builtin_queries()) {
      const Answer answer = ask(database, std::string(query.name));
      EXPECT_EQ(answer.error, "") << sample << " " << query.name;
      EXPECT_GE(answer.columns.size(), 2u) << query.name;
      const Answer view = ask(database, "SELECT * FROM " + std::string(query.name));
      EXPECT_EQ(view.columns, answer.columns) << query.name;
      EXPECT_EQ(view.rows.size(), answer.rows.size()) << query.name;
    }
  }
}

TEST(QueryDatabase, BuiltinQueriesAreDescribedAndTakeNoTablesName) {
  QueryDatabase database = database_of("drawn_gpu");
  std::set<std::string_view> names;
  for (const BuiltinQuery& query : builtin_queries()) {
    EXPECT_TRUE(names.insert(query.name).second) << query.name;
    EXPECT_GT(query.summary.size(), 10u) << query.name;
    const Answer table = ask(database, "SELECT name FROM main.sqlite_schema WHERE lower(name) = '" +
                                           std::string(query.name) + "'");
    EXPECT_EQ(table.error, "");
    EXPECT_TRUE(table.rows.empty()) << query.name;
  }
  EXPECT_TRUE(std::is_sorted(builtin_queries().begin(), builtin_queries().end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
}

TEST(QueryDatabase, AnswersAgreeWithTheTrace) {
  const auto trace = read_trace(kSamples + "drawn_gpu");
  ASSERT_TRUE(trace);
  QueryDatabase database = database_of("drawn_gpu");
  const Answer events = ask(database, "SELECT count(*), sum(duration) FROM EVENTS");
  std::int64_t duration = 0;
  for (const Event& event : trace->events) duration += event.end_ns - event.start_ns;
  ASSERT_EQ(events.rows.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(events.rows[0][0]), std::ssize(trace->events));
  EXPECT_EQ(std::get<std::int64_t>(events.rows[0][1]), duration);
  EXPECT_EQ(ask(database, "step_times").rows.size(), trace->steps.size());
}

TEST(QueryDatabase, AllowsNothingButASelect) {
  const tests::TemporaryFolder folder;
  QueryDatabase database = database_of("drawn_gpu");
  for (const std::string& sql :
       {std::string("DROP TABLE STEPS"), std::string("DELETE FROM STEPS"),
        std::string("CREATE TABLE a (b)"), std::string("CREATE TEMP VIEW a AS SELECT 1"),
        std::string("INSERT INTO STEPS VALUES (1,1,1,1,1,1)"), std::string("PRAGMA user_version"),
        std::string("SELECT * FROM pragma_database_list"), std::string("BEGIN IMMEDIATE"),
        "ATTACH '" + folder.path("other.db") + "' AS other",
        "VACUUM INTO '" + folder.path("other.db") + "'",
        std::string("SELECT load_extension('libc.so.6')"), std::string("SELECT 1; SELECT 2"),
        std::string("SELECT 1; DROP TABLE STEPS"), std::string(" ; "), std::string("SELECT FROM"),
        std::string("no_such_query")}) {
    const Answer answer = ask(database, sql);
    EXPECT_FALSE(answer.error.empty()) << sql;
    EXPECT_TRUE(answer.rows.empty()) << sql;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_FALSE(ask(database, "SELECT * FROM STEPS").rows.empty());
  EXPECT_NE(ask(database, "operator").error.find("'operators'"), std::string::npos);
}

TEST(QueryDatabase, StopsWhenNoMoreRowsAreWanted) {
  QueryDatabase database = database_of("drawn_gpu");
  int rows = 0;
  const auto done = database.run(
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
      [](const auto&) {}, [&](const QueryRow&) { return ++rows < 5; });
  EXPECT_TRUE(done);
  EXPECT_EQ(rows, 5);
}

}  // namespace
}  // namespace foreshard::traces
