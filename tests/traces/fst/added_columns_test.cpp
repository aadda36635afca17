// Columns that came later: files of earlier writers lack them, and are read all the same.
#include <gtest/gtest.h>

#include "tests/traces/sample_trace.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/fst/fst_finish.hpp"

namespace foreshard::traces {
namespace {

class AddedColumns : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_fst(path_, sample_trace())); }

  // What is read of the sample once the file was changed so.
  std::string difference_after(const char* change, const Trace& expected = sample_trace()) {
    {
      Database file = open_own(path_);
      EXPECT_TRUE(file.run(change)) << file.error();
    }
    const auto read = read_fst(path_);
    return read ? difference(expected, *read) : read.error().text();
  }

 private:
  TemporaryFolder folder_;
  std::string path_ = folder_.path("a.fst");
};

TEST_F(AddedColumns, MayBeMissing) {
  EXPECT_EQ(difference_after("DROP VIEW EVENTS; DROP TABLE ENUM_COST_SOURCE;"
                             "ALTER TABLE EVENT_FACTS DROP COLUMN costSource;"
                             "ALTER TABLE EVENT_FACTS DROP COLUMN costError"),
            "");
}

TEST_F(AddedColumns, StepsMayLackTheirLabels) {
  Trace expected = sample_trace();
  for (Step& step : expected.steps) step.label = 0;
  EXPECT_EQ(difference_after("ALTER TABLE STEPS DROP COLUMN labelId", expected), "");
}

TEST_F(AddedColumns, ATraceWithoutTheTableOfDroppedRangesHasNone) {
  Trace expected = sample_trace();
  expected.dropped_ranges.clear();
  EXPECT_EQ(difference_after("DROP TABLE DROPPED_RANGES", expected), "");
}

TEST_F(AddedColumns, DroppedRangesHadTheTableLosses) {
  EXPECT_EQ(difference_after("DROP VIEW LOSSES; ALTER TABLE DROPPED_RANGES RENAME TO LOSSES"), "");
}

TEST_F(AddedColumns, ATraceWithoutTheTablesOfCountersHasNone) {
  Trace expected = sample_trace();
  expected.counters.clear();
  EXPECT_EQ(difference_after("DROP TABLE COUNTERS; DROP TABLE COUNTER_SAMPLES", expected), "");
}

TEST_F(AddedColumns, ImpossibleSamplesAreLeftOutAndCounted) {
  Trace expected = sample_trace();
  expected.counters[0].samples.pop_back();
  expected.dropped["impossible records (damaged file)"] = 3;
  expected.complete = false;
  expected.complete_until_ns = 0;
  EXPECT_EQ(difference_after("UPDATE COUNTER_SAMPLES SET value = 9e999 WHERE value = 99;"
                             "INSERT INTO COUNTER_SAMPLES VALUES (7, 0, 1);"
                             "INSERT INTO COUNTERS VALUES (8, -5, 0, 0)",
                             expected),
            "");
}

TEST_F(AddedColumns, WithImpossibleValuesCountAsMissing) {
  EXPECT_EQ(difference_after("UPDATE EVENT_FACTS SET costSource = 99, costError = -1e300"), "");
  EXPECT_EQ(difference_after("UPDATE EVENT_FACTS SET costSource = 'x', costError = 1e300"), "");
}

}  // namespace
}  // namespace foreshard::traces
