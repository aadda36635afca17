// The tables and views a user queries with sqlite3, pandas or scripts written for Nsight Systems.
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/traces/sample_trace.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::traces {
namespace {

class PlainSql : public testing::Test {
 protected:
  void SetUp() override {
    Trace trace = sample_trace();
    trace.events.update_last([](Event& event) {
      event.cost_source = CostSource::modelled;
      event.cost_error = 0.25F;
    });
    ASSERT_TRUE(write_fst(folder_.path("a.fst"), trace));
    ASSERT_EQ(sqlite3_open(folder_.path("a.fst").c_str(), &database_), SQLITE_OK);
  }
  void TearDown() override { sqlite3_close(database_); }

  // Cells joined by '|', rows by ';'.
  std::string query(const std::string& sql) {
    std::string out;
    char* error = nullptr;
    sqlite3_exec(
        database_, sql.c_str(),
        [](void* text, int columns, char** cells, char**) {
          auto& rows = *static_cast<std::string*>(text);
          if (!rows.empty()) rows += ';';
          for (int i = 0; i < columns; ++i) {
            rows += (i > 0 ? "|" : "") + std::string(cells[i] ? cells[i] : "NULL");
          }
          return 0;
        },
        &out, &error);
    if (error) out = error;
    sqlite3_free(error);
    return out;
  }

 private:
  TemporaryFolder folder_;
  sqlite3* database_ = nullptr;
};

TEST_F(PlainSql, DroppedRangesHaveTheirFormerNameToo) {
  const char* rows = "0|0|1200000|1300000|2;-1|1|2000000|2000000|1";
  EXPECT_EQ(query("SELECT * FROM DROPPED_RANGES"), rows);
  EXPECT_EQ(query("SELECT * FROM LOSSES"), rows);
}

TEST_F(PlainSql, EventsAreSpeltOut) {
  // 3 steps x 2 ranks; the kernel runs 700,000 - 100 ns.
  EXPECT_EQ(query("SELECT kind, name, unit, count(*), max(duration) FROM EVENTS "
                  "WHERE device GROUP BY kind ORDER BY kind"),
            "communication|matmul|root|3|699900;compute|matmul|root|3|699900");
  EXPECT_EQ(query("SELECT DISTINCT lane, stableKey, costKey, cpu FROM EVENTS WHERE kind='compute'"),
            "compute|steady/0/forward/model.layers.0/matmul/0|matmul bf16 8 8 8 0|650000");
  EXPECT_EQ(query("SELECT costSource, costError, count(*) FROM EVENTS WHERE device "
                  "GROUP BY costSource ORDER BY costSource"),
            "NULL|NULL|5;modelled|0.25|1");
}

TEST_F(PlainSql, MemoryEventsAreSpeltOut) {
  EXPECT_EQ(query("SELECT action, bytes, requested, pool, category, owner FROM MEMORY_EVENTS "
                  "WHERE rank = 0 AND step = 1 AND action <> 'segment_alloc' ORDER BY start"),
            "alloc|1024|1000|compute|activations|model.norm: rstd;"
            "free_requested|1024|1000|compute|activations|model.norm: rstd");
}

TEST_F(PlainSql, QueriesForNsightSystemsWork) {
  EXPECT_EQ(query("SELECT value, count(*), sum(\"end\" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                  "JOIN StringIds s ON s.id = k.demangledName GROUP BY value"),
            "matmul|6|4199400");  // 6 x 699,900
  EXPECT_EQ(query("SELECT text, count(*) FROM NVTX_EVENTS GROUP BY text"), "forward|6");
  EXPECT_EQ(query("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), "6");
  EXPECT_EQ(query("SELECT memoryOperationType, count(*), sum(bytes) "
                  "FROM CUDA_GPU_MEMORY_USAGE_EVENTS GROUP BY 1"),
            "0|6|6144;1|6|6144");
  EXPECT_EQ(query("SELECT value FROM META_DATA_EXPORT WHERE name = 'complete'"), "1");
}

}  // namespace
}  // namespace foreshard::traces
