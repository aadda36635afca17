// Unions of intervals against counting every nanosecond.
#include "traces/intervals.hpp"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace foreshard::traces {
namespace {

using Raw = std::vector<std::pair<int, int>>;

constexpr int kEnd = 64;

std::vector<Interval> intervals(const Raw& raw) {
  std::vector<Interval> out;
  for (const auto& [a, b] : raw) out.push_back({std::min(a, b), std::max(a, b)});
  return out;
}

std::set<int> covered(const Raw& raw) {
  std::set<int> moments;
  for (const Interval& i : intervals(raw)) {
    for (auto t = i.start_ns; t < i.end_ns; ++t) moments.insert(static_cast<int>(t));
  }
  return moments;
}

rc::Gen<Raw> raw_intervals() {
  return rc::gen::container<Raw>(
      rc::gen::pair(rc::gen::inRange(0, kEnd), rc::gen::inRange(0, kEnd)));
}

RC_GTEST_PROP(Intervals, UnionIsDisjointOrderedAndCoversTheSame, ()) {
  const Raw raw = *raw_intervals();
  const auto disjoint = united(intervals(raw));
  for (std::size_t i = 1; i < disjoint.size(); ++i) {
    RC_ASSERT(disjoint[i - 1].end_ns < disjoint[i].start_ns);
  }
  RC_ASSERT(length(disjoint) == static_cast<std::int64_t>(covered(raw).size()));
}

RC_GTEST_PROP(Intervals, OverlapIsWhatBothCover, ()) {
  const Raw a = *raw_intervals(), b = *raw_intervals();
  std::int64_t both = 0;
  const auto in_b = covered(b);
  for (const int t : covered(a)) both += in_b.contains(t) ? 1 : 0;
  RC_ASSERT(overlap(united(intervals(a)), united(intervals(b))) == both);
}

TEST(Intervals, WorkedExample) {
  // 0-3 and 2-5 are one of 5; 5-6 touches it; 8-9 stands alone; 7-7 has no length.
  const auto disjoint = united({{8, 9}, {0, 3}, {5, 6}, {2, 5}, {7, 7}});
  EXPECT_EQ(disjoint, (std::vector<Interval>{{0, 6}, {7, 7}, {8, 9}}));
  EXPECT_EQ(length(disjoint), 7);
  EXPECT_EQ(overlap(disjoint, {{4, 9}}), 3);  // 4-6 and 8-9
}

}  // namespace
}  // namespace foreshard::traces
