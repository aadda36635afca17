// Matching by key, small enough to check by hand.
#include "profiler/analysis/matched_events.hpp"

#include <gtest/gtest.h>

#include "tests/profiler/analysis/hand_made_trace.hpp"

namespace foreshard::profiler {
namespace {

using traces::EventKind;

TEST(MatchedEvents, ByRankLaneKindAndKeyWithinOneStepOfEach) {
  HandMadeTrace baseline(2), candidate(1, true);
  candidate.trace.metadata["ranks"] = "2";
  candidate.trace.metadata["rank_classes"] = "0,0";
  baseline.event(1, 0, EventKind::compute, 50, 60, 3, "add", "k/add");
  baseline.event(1, 0, EventKind::compute, 10, 20, 3, "matmul", "k/matmul");
  baseline.event(1, 0, EventKind::compute, 20, 30, 3, "silu", "k/silu");
  baseline.event(1, 0, EventKind::compute, 30, 31, 3, "unknown");
  baseline.event(1, 0, EventKind::compute, 110, 120, 4, "matmul", "k/matmul");
  baseline.event(0, 0, EventKind::compute, 10, 20, 3, "matmul", "k/matmul");
  baseline.event(1, -1, EventKind::host, 10, 20, 3, "matmul", "k/matmul");
  candidate.event(0, 0, EventKind::compute, 5, 9, 2, "matmul", "k/matmul");
  candidate.event(0, 0, EventKind::compute, 9, 11, 2, "add", "k/add");
  candidate.event(0, 1, EventKind::communication, 9, 11, 2, "all_gather", "k/gather");

  const MatchedEvents matched = matched_events(baseline.trace, 1, 3, candidate.trace, 2);
  const auto name = [](const HandMadeTrace& of, std::int32_t event) {
    return of.trace.strings[of.trace.events[static_cast<std::size_t>(event)].name];
  };
  ASSERT_EQ(matched.pairs.size(), 2u);
  EXPECT_EQ(name(baseline, matched.pairs[0].baseline), "matmul");  // the earlier one first
  EXPECT_EQ(name(candidate, matched.pairs[0].candidate), "matmul");
  EXPECT_EQ(name(candidate, matched.pairs[1].candidate), "add");
  EXPECT_EQ(matched.only_baseline.size(), 2u);  // silu, and what has no key
  ASSERT_EQ(matched.only_candidate.size(), 1u);
  EXPECT_EQ(name(candidate, matched.only_candidate[0]), "all_gather");
}

TEST(MatchedEvents, OneRankEachWhicheverTheyAre) {
  HandMadeTrace baseline(1), candidate(1);
  for (traces::Lane& lane : candidate.trace.lanes) lane.rank = 5;
  EXPECT_EQ(RankCounterparts(baseline.trace, candidate.trace)(0), 5);
  EXPECT_EQ(matched_events(baseline.trace, 0, 1, candidate.trace, 1).pairs.size(), 0u);
}

TEST(MatchedEvents, KernelsOfOneInstructionHaveOneCounterpart) {
  HandMadeTrace several(1), one(1);
  several.event(0, 0, EventKind::compute, 10, 20, 1, "split_k", "k/matmul");
  several.event(0, 0, EventKind::compute, 20, 25, 1, "reduce", "k/matmul");
  one.event(0, 0, EventKind::compute, 3, 9, 1, "matmul", "k/matmul");
  const MatchedEvents matched = matched_events(several.trace, 0, 1, one.trace, 1),
                      other_way = matched_events(one.trace, 0, 1, several.trace, 1);
  ASSERT_EQ(matched.pairs.size(), 2u);
  EXPECT_EQ(matched.pairs[0].candidate, matched.pairs[1].candidate);
  EXPECT_NE(matched.pairs[0].baseline, matched.pairs[1].baseline);
  ASSERT_EQ(other_way.pairs.size(), 2u);
  EXPECT_EQ(other_way.pairs[0].baseline, other_way.pairs[1].baseline);
  for (const MatchedEvents* way : {&matched, &other_way}) {
    EXPECT_TRUE(way->only_baseline.empty() && way->only_candidate.empty());
  }
}

}  // namespace
}  // namespace foreshard::profiler
