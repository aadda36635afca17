// What collectives cost the work beside them, against a count nanosecond by nanosecond.
#include "simulator/engine/contention.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/simulator/small_program.hpp"

namespace foreshard::simulator {
namespace {

// Work goes on at full speed alone and at 1/factor beside any collective.
double counted_end(const std::vector<Interval>& collectives, std::int64_t start, double ns,
                   double factor) {
  for (std::int64_t now = start;; ++now) {
    if (ns <= 0) return static_cast<double>(now);
    const bool is_beside = std::any_of(collectives.begin(), collectives.end(),
                                       [&](Interval i) { return i.start <= now && now < i.end; });
    const double done = is_beside ? 1 / factor : 1;
    if (ns < done) return static_cast<double>(now) + ns / done;
    ns -= done;
  }
}

RC_GTEST_PROP(Contention, SlowsWhatOverlapsACollective, ()) {
  CollectivesUnderWay collectives;
  std::vector<Interval> all;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
    const std::int64_t start = *rc::gen::inRange(0, 300);
    all.push_back({start, start + *rc::gen::inRange(0, 150)});
    collectives.add(all.back());
  }
  const std::int64_t start = *rc::gen::inRange(0, 300), ns = *rc::gen::inRange(0, 200);
  const double factor = 1 + *rc::gen::inRange(0, 300) / 100.0;
  collectives.forget_before(*rc::gen::inRange<std::int64_t>(0, start + 1));
  RC_ASSERT(std::abs(static_cast<double>(collectives.end_of_task(start, ns, factor)) -
                     counted_end(all, start, static_cast<double>(ns), factor)) <= 1);
}

RC_GTEST_PROP(Contention, IsTheSameLaterOn, ()) {
  CollectivesUnderWay collectives;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
    const std::int64_t start = *rc::gen::inRange(0, 3000);
    collectives.add({start, start + *rc::gen::inRange(0, 1500)});
  }
  const std::int64_t start = *rc::gen::inRange(0, 3000), later = *rc::gen::inRange(0, 1 << 30);
  const std::int64_t end = collectives.end_of_task(start, 1234, 1.37);
  collectives.shift(later);
  RC_ASSERT(collectives.end_of_task(start + later, 1234, 1.37) == end + later);
}

// A gather of 100 ns beside 200 ns of work that takes twice as long meanwhile: 50 of it is done then.
TEST(Contention, StretchesKernelsOfTheComputeStream) {
  SmallProgram p(0, 2);
  p.collective(kGather, 100);
  p.launch(kCompute, 200);
  p.launch(kReduce, 200);
  for (TaskCost& cost : p.costs) cost.contended = 2;
  const std::vector<SimulatedRank> ranks{p.simulated()};
  EngineOptions options;
  options.steps = 1;
  const auto timelines = simulate(ranks, options);
  const auto spans = timelines[0].step(1);
  EXPECT_EQ(spans[0].end - spans[0].start, 100);
  EXPECT_EQ(spans[1].end - spans[1].start, 250);
  EXPECT_EQ(spans[2].end - spans[2].start, 200);
}

}  // namespace
}  // namespace foreshard::simulator
