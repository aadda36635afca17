// Memory over time in buckets: no peak lost, baselines not mistaken for growth.
#include "profiler/analysis/memory_timeline.hpp"

#include <limits>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "profiler/analysis/analysis.hpp"
#include "profiler/report/analysis_report.hpp"
#include "tests/profiler/analysis/hand_made_trace.hpp"
#include "traces/export/csv_export.hpp"

namespace foreshard::profiler {
namespace {

using traces::MemoryAction;
using traces::MemoryLevels;

MemoryLevels highest(const MemoryTimeline& timeline) {
  MemoryLevels levels;
  for (const MemoryBucket& bucket : timeline.buckets) {
    levels.allocated = std::max(levels.allocated, bucket.highest.allocated);
    levels.reserved = std::max(levels.reserved, bucket.highest.reserved);
    levels.host = std::max(levels.host, bucket.highest.host);
  }
  return levels;
}

// What was there before stands at 1000 in two events; 512 buckets of 10 ns follow.
TEST(MemoryTimeline, KeepsMomentsAndLevels) {
  HandMadeTrace t;
  t.memory(0, MemoryAction::segment_alloc, 1000, 0x1000, 4096)
      .memory(0, MemoryAction::alloc, 1000, 0x1000, 512)
      .memory(0, MemoryAction::alloc, 1012, 0x1200, 1024)
      .memory(0, MemoryAction::free_requested, 1012, 0x1200, 1024)
      .memory(0, MemoryAction::alloc, 1035, 0x1200, 256, "", "", 1, true)
      .memory(0, MemoryAction::free_requested, 1000 + 5119, 0x1000, 512);
  const MemoryTimeline timeline = analyse(t.trace).ranks[0].memory_timeline;
  EXPECT_EQ(timeline.start_ns, 1000);
  EXPECT_EQ(timeline.bucket_ns, 10);
  ASSERT_EQ(timeline.buckets.size(), 512u);
  EXPECT_EQ(timeline.buckets[0].highest, (MemoryLevels{512, 4096, 0}));
  EXPECT_EQ(timeline.buckets[0].lowest, (MemoryLevels{512, 4096, 0}))
      << "not the nothing before it";
  EXPECT_EQ(timeline.buckets[1].highest, (MemoryLevels{1536, 4096, 0})) << "for no time at all";
  EXPECT_EQ(timeline.buckets[1].lowest, (MemoryLevels{512, 4096, 0}));
  EXPECT_EQ(timeline.buckets[2].highest, (MemoryLevels{512, 4096, 0})) << "nothing happened";
  EXPECT_EQ(timeline.buckets[3].highest, (MemoryLevels{512, 4096, 256}));
  EXPECT_EQ(timeline.buckets[511].highest, (MemoryLevels{512, 4096, 256}));
  EXPECT_EQ(timeline.buckets[511].lowest, (MemoryLevels{0, 4096, 256}));
}

TEST(MemoryTimeline, HasTheSameBucketsOnAllRanks) {
  HandMadeTrace t(3);
  t.memory(0, MemoryAction::alloc, 100, 0x10, 1).memory(1, MemoryAction::alloc, 612, 0x10, 2);
  const Analysis analysis = analyse(t.trace);
  const MemoryTimeline &first = analysis.ranks[0].memory_timeline,
                       &second = analysis.ranks[1].memory_timeline;
  EXPECT_EQ(first.start_ns, second.start_ns);
  EXPECT_EQ(first.bucket_ns, second.bucket_ns);
  EXPECT_EQ(first.buckets.size(), second.buckets.size());
  EXPECT_EQ(second.buckets.front().highest.allocated, 0);
  EXPECT_EQ(second.buckets.back().highest.allocated, 2);
  EXPECT_TRUE(analysis.ranks[2].memory_timeline.buckets.empty()) << "it has no events";
}

TEST(MemoryTimeline, EndsOnImpossibleTimes) {
  HandMadeTrace t;
  t.memory(0, MemoryAction::alloc, std::numeric_limits<std::int64_t>::min(), 0x10, 1)
      .memory(0, MemoryAction::alloc, std::numeric_limits<std::int64_t>::max(), 0x20, 2);
  const Analysis analysis = analyse(t.trace);
  EXPECT_LE(analysis.ranks[0].memory_timeline.buckets.size(), 512u);
  EXPECT_EQ(highest(analysis.ranks[0].memory_timeline).allocated, 3);
  EXPECT_FALSE(report_text(analysis).empty());
}

TEST(MemoryTimeline, IsInTheJson) {
  HandMadeTrace t;
  t.memory(0, MemoryAction::alloc, 5, 0x10, 7).memory(0, MemoryAction::alloc, 8, 0x20, 8);
  const auto json = nlohmann::json::parse(to_json(analyse(t.trace)));
  const auto& timeline = json["ranks"][0]["memory_timeline"];
  EXPECT_EQ(timeline["start_ns"], 5);
  EXPECT_EQ(timeline["bucket_ns"], 1);
  EXPECT_EQ(timeline["allocated_max_bytes"], (std::vector<int>{7, 7, 7, 15}));
  EXPECT_EQ(timeline["allocated_min_bytes"].size(), 4u);
  EXPECT_EQ(timeline["reserved_max_bytes"], (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(timeline["host_min_bytes"].size(), 4u);
}

// The highest figures of the table that `export --csv` writes, of one rank.
MemoryLevels highest_exported(const traces::Trace& trace, std::int32_t rank) {
  std::stringstream table;
  write_memory_timeline_csv(trace, table);
  MemoryLevels levels;
  std::string line;
  std::getline(table, line);
  for (char comma = 0; std::getline(table, line);) {
    std::istringstream row(line);
    std::int32_t of = 0;
    std::int64_t time = 0;
    MemoryLevels now;
    row >> of >> comma >> time >> comma >> now.allocated >> comma >> now.reserved >> comma >>
        now.host;
    if (of != rank) continue;
    levels.allocated = std::max(levels.allocated, now.allocated);
    levels.reserved = std::max(levels.reserved, now.reserved);
    levels.host = std::max(levels.host, now.host);
  }
  return levels;
}

RC_GTEST_PROP(MemoryTimeline, LosesNoPeakOfAnyTrace, ()) {
  HandMadeTrace t(2);
  const int events = *rc::gen::inRange(0, 60);
  const std::int64_t longest = *rc::gen::element<std::int64_t>(1, 100, 1'000'000);
  for (int i = 0; i < events; ++i) {
    t.memory(*rc::gen::inRange(0, 2), static_cast<MemoryAction>(*rc::gen::inRange(0, 6)),
             *rc::gen::inRange<std::int64_t>(0, longest), 16 * *rc::gen::inRange(0, 6),
             *rc::gen::inRange(0, 1000), "", "", *rc::gen::inRange(0, 3),
             *rc::gen::arbitrary<bool>());
  }
  for (const RankAnalysis& rank : analyse(t.trace).ranks) {
    RC_ASSERT(rank.memory_timeline.buckets.size() <= 512u);
    const MemoryLevels peaks{rank.peak.allocated_bytes, rank.peak.reserved_bytes,
                             rank.peak.host_bytes};
    RC_ASSERT(highest(rank.memory_timeline) == peaks);
    RC_ASSERT(highest_exported(t.trace, rank.rank) == peaks);
    for (const MemoryBucket& bucket : rank.memory_timeline.buckets) {
      RC_ASSERT(bucket.lowest.allocated <= bucket.highest.allocated);
      RC_ASSERT(bucket.lowest.reserved <= bucket.highest.reserved);
      RC_ASSERT(bucket.lowest.host <= bucket.highest.host);
    }
    std::int64_t described = 0;
    for (const auto& [category, bytes] : rank.peak.by_category) described += bytes;
    RC_ASSERT(described == rank.peak.allocated_bytes);
  }
}

}  // namespace
}  // namespace foreshard::profiler
