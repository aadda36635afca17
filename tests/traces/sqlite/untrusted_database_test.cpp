// Traces whose database does more than hold rows: nothing in it is evaluated, run or awaited.
#include <fstream>
#include <functional>
#include <iterator>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <zlib.h>

#include "tests/traces/sample_trace.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::traces {
namespace {

class UntrustedDatabaseTest : public testing::Test {
 protected:
  // A trace, changed.
  Result<Trace> changed(const std::vector<std::string>& statements) {
    const std::string path = folder_.path("a.fst");
    std::filesystem::remove(path);
    EXPECT_TRUE(write_fst(path, sample_trace()));
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    for (const std::string& sql : statements) {
      char* error = nullptr;
      EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK)
          << sql << ": " << error;
      sqlite3_free(error);
    }
    sqlite3_close(database);
    return read_fst(path);
  }

  // a.fst in gzip, of which the first `part` is kept.
  std::string in_gzip(double part = 1) {
    const std::string path = folder_.path("a.fst.gz");
    std::ifstream plain(folder_.path("a.fst"), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(plain), {});
    gzFile file = gzopen(path.c_str(), "wb");
    EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    gzclose(file);
    const auto size = static_cast<double>(std::filesystem::file_size(path));
    std::filesystem::resize_file(path, static_cast<std::uintmax_t>(part * size));
    return path;
  }

  const TemporaryFolder folder_;
};

constexpr const char* kEndless =
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS start FROM "
    "n";

TEST_F(UntrustedDatabaseTest, GeneratedColumnsAreNotComputed) {
  const auto trace =
      changed({"DROP TABLE STEPS",
               "CREATE TABLE STEPS (rank INTEGER, step INTEGER, start INTEGER, \"end\" INTEGER, "
               "loss REAL AS (length(hex(zeroblob(1000)))), gradientNorm REAL)",
               "INSERT INTO STEPS VALUES (0, 1, 0, 10, 1.0)"});
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().field, "STEPS.loss");
}

TEST_F(UntrustedDatabaseTest, ViewsAndVirtualTablesAreNone) {
  for (const std::string statement :
       {"CREATE VIEW STEPS AS SELECT 0 AS rank, 1 AS step, 0 AS start, 9 AS \"end\", 1.0 AS loss, "
        "2.0 "
        "AS gradientNorm",
        "CREATE VIRTUAL TABLE STEPS USING fts4(rank, step, start, end, loss, gradientNorm)"}) {
    const auto trace = changed({"DROP TABLE STEPS", statement});
    ASSERT_FALSE(trace) << statement;
    EXPECT_NE(trace.error().text().find("without the table STEPS"), std::string::npos)
        << trace.error().text();
  }
}

TEST_F(UntrustedDatabaseTest, AnotherProgramsDatabaseIsNamedAsOne) {
  const auto trace = changed({"DROP TABLE EVENT_RECORDS", "DROP TABLE EVENT_FACTS"});
  ASSERT_FALSE(trace);
  EXPECT_NE(trace.error().text().find("is an SQLite database, but not a foreshard trace"),
            std::string::npos)
      << trace.error().text();
}

TEST_F(UntrustedDatabaseTest, NoQueryIsEndless) {
  EXPECT_TRUE(changed({"DROP VIEW EVENTS", std::string("CREATE VIEW EVENTS AS ") + kEndless}));
  EXPECT_FALSE(changed({"DROP TABLE STEPS", std::string("CREATE VIEW STEPS AS ") + kEndless,
                        "PRAGMA writable_schema = ON",
                        "UPDATE sqlite_schema SET type = 'table' WHERE name = 'STEPS'"}));
}

TEST_F(UntrustedDatabaseTest, ValuesOfAbsurdLengthAreDamage) {
  const std::pair<std::string, std::string> cases[] = {
      {"text", "INSERT INTO DROPPED VALUES (replace(hex(zeroblob(10000000)), '0', 'x'), 1)"},
      {"bytes", "INSERT INTO PACKED_RECORDS VALUES (9, zeroblob(20000000))"}};
  for (const auto& [what, statement] : cases) {
    const auto trace = changed({statement});
    ASSERT_TRUE(trace) << what;
    EXPECT_FALSE(trace->complete) << what;
    EXPECT_EQ(trace->dropped.count("truncated tables (damaged file)"), 1u) << what;
  }
}

// A hole makes a file as long as one likes at no cost.
TEST_F(UntrustedDatabaseTest, TextIsNumberedAsFarAsThereAreRows) {
  const std::string path = folder_.path("a.fst");
  ASSERT_TRUE(changed({"INSERT INTO StringIds VALUES (50000000, 'far')"}));
  std::filesystem::resize_file(path, 100 << 20);
  const auto trace = read_fst(path);
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->dropped.at("impossible records (damaged file)"), 1);
  const auto near = changed({"INSERT INTO StringIds SELECT max(id) + 1000, 'x' FROM StringIds"});
  ASSERT_TRUE(near);
  EXPECT_TRUE(near->complete);
}

TEST_F(UntrustedDatabaseTest, NumbersThatATraceHasNoRoomForAreDamage) {
  for (const std::string column : {"EVENT_FACTS SET microStep", "EVENT_FACTS SET instruction",
                                   "MEMORY_FACTS SET instruction"}) {
    const auto trace = changed({"UPDATE " + column + " = 4294967297 WHERE id = 0"});
    ASSERT_TRUE(trace) << column;
    EXPECT_FALSE(trace->complete) << column;
    EXPECT_EQ(trace->dropped.count("impossible records (damaged file)"), 1u) << column;
  }
}

TEST_F(UntrustedDatabaseTest, OpensInGzipWhatItOpensPlain) {
  for (const char* log : {"DELETE", "WAL"}) {
    const auto plain = changed({std::string("PRAGMA journal_mode = ") + log});
    const auto packed = read_fst(in_gzip());
    ASSERT_TRUE(plain && packed) << log << ": " << packed.error().text();
    EXPECT_TRUE(packed->complete) << log;
    EXPECT_EQ(packed->metadata, plain->metadata) << log;
    EXPECT_EQ(packed->events.size(), plain->events.size()) << log;
    EXPECT_EQ(packed->memory.size(), plain->memory.size()) << log;
  }
  const auto cut = read_fst(in_gzip(0.5));
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().message.find("the compressed data is truncated; expected a"),
            std::string::npos)
      << cut.error().text();
}

// SQLite makes files beside a database whose header mentions a log, even to read it.
TEST_F(UntrustedDatabaseTest, NothingIsWrittenBesideTheFile) {
  ASSERT_TRUE(changed({"PRAGMA journal_mode = WAL"}));
  EXPECT_EQ(folder_.entries(), 1u);
}

}  // namespace
}  // namespace foreshard::traces
