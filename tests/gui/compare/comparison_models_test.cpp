// Ribbons, drift, causes and waterfall of two runs whose differences are known.
#include <gtest/gtest.h>

#include "gui/models/comparison/alignment.hpp"
#include "gui/models/comparison/operator_pairs.hpp"
#include "gui/models/comparison/trace_comparison.hpp"
#include "tests/gui/compare/two_runs.hpp"

namespace foreshard::gui {
namespace {

using tests::kKernelNs;
using tests::kStepNs;

ComparedTrace analysed(traces::Trace trace) {
  const auto shared = std::make_shared<traces::Trace>(std::move(trace));
  return {shared, std::make_shared<profiler::Analysis>(profiler::analyse(*shared))};
}

TraceComparison comparison(tests::TwoRuns runs = tests::two_runs()) {
  return compare_traces(analysed(std::move(runs.baseline)), analysed(std::move(runs.candidate)),
                        std::nullopt);
}

TEST(TraceComparison, AnotherStepTakesOverWhatIsKnown) {
  const tests::TwoRuns runs = tests::two_runs();
  const ComparedTrace baseline = analysed(runs.baseline), candidate = analysed(runs.candidate);
  const auto first =
      std::make_shared<TraceComparison>(compare_traces(baseline, candidate, StepChoice{0, 3, 3}));
  const TraceComparison next = compare_traces(baseline, candidate, StepChoice{0, 4, 4}, first);
  EXPECT_EQ(next.whole, first->whole);
  EXPECT_EQ(next.step.baseline.memory, first->step.baseline.memory);
  const TraceComparison alone = compare_traces(baseline, candidate, StepChoice{0, 4, 4});
  EXPECT_EQ(next.step.baseline.step, alone.step.baseline.step);
  EXPECT_EQ(next.words.detail, alone.words.detail);
}

TEST(StepComparison, TakesASteadyStepOfBoth) {
  const TraceComparison c = comparison();
  EXPECT_EQ(c.step.choice, (StepChoice{0, 3, 3}));
  EXPECT_EQ(c.step.baseline.length_ns(), kStepNs);
  EXPECT_EQ(c.step.difference_ns(), 6 * kKernelNs);
  EXPECT_EQ(c.step.pairs.size(), 12u);
  EXPECT_EQ(steps_of(*c.step.baseline.trace), (std::vector<std::int32_t>{1, 2, 3, 4}));
}

TEST(StepComparison, RibbonsJoinUnitsAndAddUpToTheDifference) {
  const StepComparison step = comparison().step;
  // 0 1 2 forward, 2 1 0 backward.
  ASSERT_EQ(step.baseline.units.size(), 6u);
  EXPECT_EQ(step.baseline.units[2].unit, "model.layers.2");
  EXPECT_EQ(step.baseline.units[3].phase, "backward");
  EXPECT_EQ(step.baseline.units[1].time, (traces::Interval{2 * kKernelNs, 4 * kKernelNs}));
  ASSERT_EQ(step.ribbons.size(), 6u);
  std::int64_t sum = 0;
  for (const Ribbon& ribbon : step.ribbons) {
    EXPECT_EQ(ribbon.baseline, ribbon.candidate);
    EXPECT_EQ(ribbon.difference_ns, kKernelNs);  // two kernels, each half as long again
    sum += ribbon.difference_ns;
  }
  EXPECT_EQ(sum, step.difference_ns());
}

TEST(StepComparison, DriftEndsAtTheDifferenceAndPhasesAddUpToIt) {
  const StepComparison step = comparison().step;
  ASSERT_EQ(step.drift.points.size(), 14u);  // the start, 12 kernels, the end
  for (std::int64_t n = 0; n <= 12; ++n) {
    EXPECT_EQ(step.drift.points[static_cast<std::size_t>(n)],
              (DriftPoint{n * kKernelNs, n * kKernelNs / 2}));
  }
  EXPECT_EQ(step.drift.points.back(), (DriftPoint{kStepNs, step.difference_ns()}));
  std::int64_t sum = 0;
  for (const PhaseDrift& phase : step.drift.phases) sum += phase.drift_ns;
  EXPECT_EQ(sum, step.difference_ns());
}

TEST(StepComparison, LanesComeInPairsWithTheirBusyTime) {
  const StepComparison step = comparison().step;
  ASSERT_EQ(step.lanes.size(), 1u);
  EXPECT_EQ(step.lanes[0].kind, LaneKind::compute);
  EXPECT_EQ(step.lanes[0].baseline.busy_ns, 12 * kKernelNs);
  EXPECT_EQ(step.lanes[0].candidate.busy_ns, 18 * kKernelNs);
}

TEST(TraceComparison, TheTableIsTheComparisons) {
  const TraceComparison c = comparison();
  ASSERT_EQ(c.causes.size(), c.whole->operators.size());
  for (std::size_t n = 0; n < c.causes.size(); ++n) {
    EXPECT_EQ(c.causes[n].name, c.whole->operators[n].name);
    EXPECT_EQ(c.causes[n].baseline_ns, c.whole->operators[n].baseline_ns);
    EXPECT_EQ(c.causes[n].candidate_ns, c.whole->operators[n].candidate_ns);
  }
}

TEST(TraceComparison, TheWaterfallAddsUp) {
  const TraceComparison c = comparison();
  ASSERT_GE(c.waterfall.size(), 3u);
  EXPECT_EQ(c.waterfall.front().to_ns, c.whole->baseline_step_ns);
  EXPECT_EQ(c.waterfall.back().to_ns, c.whole->candidate_step_ns);
  for (std::size_t n = 1; n + 1 < c.waterfall.size(); ++n) {
    EXPECT_EQ(c.waterfall[n].from_ns, c.waterfall[n - 1].to_ns);
  }
  EXPECT_EQ(c.waterfall[c.waterfall.size() - 2].to_ns, c.whole->candidate_step_ns);
  EXPECT_EQ(c.waterfall[1].difference_ns(), 3 * kKernelNs);  // six matmuls
}

TEST(TraceComparison, SaysWhatMatchesAndWhy) {
  const TraceComparison c = comparison();
  EXPECT_TRUE(c.sides.is_prediction);
  EXPECT_TRUE(
      c.words.detail.endsWith(QStringLiteral("12 of 12 events of a step match by instruction.")));
  EXPECT_EQ(c.words.lead.toStdString(), "Predicted 18.50 ms, measured 12.50 ms: +48.0 %.");
  const PairSpread spread = pair_spread(c.step.pairs, "matmul");
  EXPECT_EQ(spread.pairs, 6u);
  EXPECT_NEAR(spread.factor, 1.5, 1e-9);
  EXPECT_EQ(spread.shape, PairSpread::Shape::parallel);
}

TEST(TraceComparison, CountsWhatOnlyOneSideHas) {
  tests::TwoRuns runs = tests::two_runs();
  runs.candidate.events.update_all([&](traces::Event& event) {
    if (runs.candidate.strings[event.stable_key] == "k/3") event.stable_key = 0;
  });
  EXPECT_TRUE(comparison(runs).words.detail.endsWith(QStringLiteral(
      "11 of 13 events of a step match by key; 1 are only measured, 1 only predicted.")));
}

TEST(OperatorPairs, FanOutWhereTheErrorGrowsWithTheSize) {
  std::vector<ComparedPair> pairs;
  for (int n = 0; n < 12; ++n) {
    const std::int64_t baseline = 1000ll << n;
    pairs.push_back({{n, n}, baseline, baseline + baseline * n / 6, "matmul", {}});
  }
  EXPECT_EQ(pair_spread(pairs, "matmul").shape, PairSpread::Shape::fanning);
  EXPECT_EQ(pair_spread(pairs, "other").shape, PairSpread::Shape::none);
}

TEST(Alignment, ByInstructionUnitsBeginTogether) {
  const StepComparison step = comparison().step;
  const Alignment aligned(step, Arrangement::by_instruction);
  for (const Ribbon& ribbon : step.ribbons) {
    EXPECT_EQ(aligned.place(false, step.baseline.units[ribbon.baseline].time.start_ns),
              aligned.place(true, step.candidate.units[ribbon.candidate].time.start_ns));
  }
  const Alignment by_clock(step, Arrangement::by_clock);
  EXPECT_EQ(by_clock.place(true, 123), 123);
  EXPECT_EQ(by_clock.end_ns(), step.candidate.length_ns());
}

TEST(TraceComparison, OfTracesWithoutStepsKeysOrEventsSaysSo) {
  tests::TwoRuns runs = tests::two_runs();
  runs.candidate.events.update_all([](traces::Event& event) { event.stable_key = 0; });
  runs.candidate.steps.clear();
  const TraceComparison keyless = comparison(runs);
  EXPECT_TRUE(keyless.step.pairs.empty());
  EXPECT_EQ(keyless.causes.size(), keyless.whole->changes.size());
  EXPECT_TRUE(keyless.waterfall.empty());
  EXPECT_EQ(keyless.words.state, Role::warn);
  EXPECT_TRUE(comparison({{}, runs.baseline}).step.pairs.empty());
  EXPECT_TRUE(comparison({{}, {}}).causes.empty());
}

}  // namespace
}  // namespace foreshard::gui
