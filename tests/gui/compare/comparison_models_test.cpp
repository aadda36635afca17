// Ribbons, drift, causes and waterfall of two runs whose differences are known.
#include <algorithm>

#include <gtest/gtest.h>

#include "gui/models/comparison/alignment.hpp"
#include "gui/models/comparison/operator_pairs.hpp"
#include "gui/models/comparison/trace_comparison.hpp"
#include "tests/gui/compare/two_runs.hpp"

namespace foreshard::gui {
namespace {

using tests::kKernelNs;
using tests::kStepNs;

DocumentPtr document(traces::Trace trace, Source source = Source::measured) {
  return make_document(std::move(trace), source, QStringLiteral("run"), {});
}

TraceComparison comparison(const DocumentPtr& baseline, const DocumentPtr& candidate,
                           std::int32_t rank = 0) {
  return compare_traces(baseline, candidate, first_choice(*baseline, *candidate, rank));
}

TraceComparison comparison(tests::TwoRuns runs = tests::two_runs()) {
  return comparison(document(std::move(runs.baseline)), document(std::move(runs.candidate)));
}

// What the units of a side are called, and when in the step they run.
std::vector<std::pair<std::string, traces::Interval>> units_of(const StepComparison& step) {
  std::vector<std::pair<std::string, traces::Interval>> units;
  const StepSide& side = step.baseline;
  const Row& row = side.document->lanes->rows()[step.lane(RowKind::unit)->baseline.rows.at(0)];
  for (std::size_t n = 0; n < row.size(); ++n) {
    const traces::Interval span = row.span(n);
    if (span.start_ns < side.step.start_ns || span.end_ns > side.step.end_ns) continue;
    units.emplace_back(
        side.trace().strings[row.name(n)] + ' ' + side.trace().strings[row.phase(n)],
        traces::Interval{span.start_ns - side.step.start_ns, span.end_ns - side.step.start_ns});
  }
  return units;
}

TEST(TraceComparison, AnotherStepTakesOverWhatIsKnown) {
  const tests::TwoRuns runs = tests::two_runs();
  const DocumentPtr baseline = document(runs.baseline), candidate = document(runs.candidate);
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
  EXPECT_EQ(steps_of(c.step.baseline.trace()), (std::vector<std::int32_t>{1, 2, 3, 4}));
}

TEST(StepComparison, RibbonsJoinUnitsAndAddUpToTheDifference) {
  const StepComparison step = comparison().step;
  // 0 1 2 forward, 2 1 0 backward.
  const auto units = units_of(step);
  ASSERT_EQ(units.size(), 6u);
  EXPECT_EQ(units[2].first, "model.layers.2 forward");
  EXPECT_EQ(units[3].first, "model.layers.2 backward");
  EXPECT_EQ(units[1].second, (traces::Interval{2 * kKernelNs, 4 * kKernelNs}));
  ASSERT_EQ(step.ribbons.size(), 6u);
  std::int64_t sum = 0;
  for (std::size_t n = 0; n < step.ribbons.size(); ++n) {
    const Ribbon& ribbon = step.ribbons[n];
    EXPECT_EQ(ribbon.baseline, units[n].second);
    EXPECT_EQ(ribbon.difference_ns(), kKernelNs);  // two kernels, each half as long again
    sum += ribbon.difference_ns();
  }
  EXPECT_EQ(sum, step.difference_ns());
}

TEST(StepComparison, DriftEndsAtTheDifferenceAndPhasesAddUpToIt) {
  const StepComparison step = comparison().step;
  ASSERT_EQ(step.drift.size(), 14u);  // the start, 12 kernels, the end
  for (std::int64_t n = 0; n <= 12; ++n) {
    EXPECT_EQ(step.drift.point(static_cast<std::size_t>(n)),
              (DriftPoint{n * kKernelNs, n * kKernelNs / 2}));
  }
  EXPECT_EQ(step.drift.point(13), (DriftPoint{kStepNs, step.difference_ns()}));
  std::int64_t sum = 0;
  for (const PhaseDrift& phase : step.drift.phases()) sum += phase.drift_ns;
  EXPECT_EQ(sum, step.difference_ns());
}

TEST(StepComparison, LanesComeInPairsWithTheirBusyTime) {
  const StepComparison step = comparison().step;
  ASSERT_EQ(step.lanes.size(), 3u);  // phases, units
  EXPECT_EQ(step.lanes[2].kind, RowKind::compute);
  EXPECT_EQ(step.lanes[2].baseline.busy_ns, 12 * kKernelNs);
  EXPECT_EQ(step.lanes[2].candidate.busy_ns, 18 * kKernelNs);
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
  const PairSpread spread = c.step.pairs_of("matmul")->spread;
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
    pairs.push_back({{n, n}, baseline, baseline + baseline * n / 6, 0, {}});
  }
  EXPECT_EQ(pair_spread(pairs).shape, PairSpread::Shape::fanning);
  EXPECT_EQ(pair_spread({}).shape, PairSpread::Shape::none);
}

TEST(Alignment, ByInstructionUnitsBeginTogether) {
  const StepComparison step = comparison().step;
  const Alignment aligned(step, Arrangement::by_instruction);
  for (const Ribbon& ribbon : step.ribbons) {
    EXPECT_EQ(aligned.place(false, ribbon.baseline.start_ns),
              aligned.place(true, ribbon.candidate.start_ns));
  }
  for (const bool is_candidate : {false, true}) {
    std::int64_t end = 0, by = 0;
    for (const Alignment::Piece& piece : aligned.pieces(is_candidate)) {
      EXPECT_EQ(piece.time.start_ns, end);
      EXPECT_GE(piece.by_ns, by);
      end = piece.time.end_ns;
      by = piece.by_ns;
      if (piece.time.start_ns == end) continue;
      const std::int64_t middle = (piece.time.start_ns + end) / 2;
      EXPECT_EQ(aligned.moment(is_candidate, aligned.place(is_candidate, middle)), middle);
    }
    EXPECT_EQ(end, step.side(is_candidate).length_ns());
  }
  // Far from it what is too short to be seen moves with what is before it.
  const std::vector<Alignment::Piece> joined = aligned.pieces(true, 4 * kKernelNs);
  EXPECT_LT(joined.size(), aligned.pieces(true).size());
  EXPECT_EQ(joined.front().time.start_ns, 0);
  EXPECT_EQ(joined.back().time.end_ns, step.candidate.length_ns());
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

// Names, counts and kinds of what the table shows of two runs that are alike but for one kernel.
traces::Trace run_with_host_calls(double factor) {
  tests::TwoRuns runs = tests::two_runs();
  traces::Trace& trace = runs.baseline;
  trace.events.update_all([&](traces::Event& event) {
    event.stable_key = 0;
    event.end_ns =
        event.start_ns +
        static_cast<std::int64_t>(static_cast<double>(event.end_ns - event.start_ns) * factor);
  });
  trace.metadata.erase("program_hash");  // of others' programs calls count
  traces::Event call;
  call.start_ns = trace.steps[2].start_ns;
  call.end_ns = call.start_ns + static_cast<std::int64_t>(10e6 * factor);
  call.step = 3;
  call.kind = traces::EventKind::host;
  call.name = trace.strings.intern("aten::linear");
  trace.events.push_back(call);
  traces::sort(trace);
  return trace;
}

TEST(ShownCauses, CallsOfTheHostAreNotMixedWithKernels) {
  const TraceComparison c =
      comparison(document(run_with_host_calls(1)), document(run_with_host_calls(0.5)));
  const ShownCauses device(c.causes, true), host(c.causes, false);
  ASSERT_EQ(device.causes.size(), 2u);
  for (const Cause& cause : device.causes) EXPECT_NE(cause.name, "aten::linear");
  ASSERT_EQ(host.causes.size(), 1u);
  EXPECT_EQ(host.causes[0].name, "aten::linear");
  EXPECT_TRUE(c.words.detail.contains(QStringLiteral("Of the operators, matmul")) ||
              c.words.detail.contains(QStringLiteral("Of the operators, add")));
}

TEST(ShownCauses, WhatNoDigitCouldShowIsLeftOut) {
  const auto cause = [](const char* name, std::int64_t before, std::int64_t after) {
    Cause one;
    one.name = name;
    one.is_on_device = true;
    one.baseline_ns = before;
    one.candidate_ns = after;
    return one;
  };
  const ShownCauses shown({cause("matmul", 50'000'000, 70'000'000),
                           cause("add", 300'000, 294'999),  // 5 us less, and 5 us more
                           cause("mul", 300'000, 304'999)},
                          true);
  ASSERT_EQ(shown.causes.size(), 2u);
  EXPECT_EQ(shown.times.unit(), QStringLiteral("ms"));
  EXPECT_EQ(shown.times.text(70'000'000), QStringLiteral("70.00"));
  EXPECT_EQ(shown.times.text(300'000), QStringLiteral("0.30"));
  EXPECT_EQ(shown.differences.signed_text(20'000'000), QStringLiteral("+20.00"));
  EXPECT_EQ(shown.differences.signed_text(-4'000), QStringLiteral("0.00"));
}

TEST(TimeScale, HasOneUnitForAll) {
  const TimeScale scale(5'228'000);
  EXPECT_EQ(scale.unit(), QStringLiteral("ms"));
  EXPECT_EQ(scale.text(5'228'000), QStringLiteral("5.228"));
  EXPECT_EQ(scale.signed_text(-12'000), QString(QChar(0x2212)) + QStringLiteral("0.012"));
  EXPECT_EQ(TimeScale(0).text(0), QStringLiteral("0"));
  EXPECT_EQ(TimeScale(999).text(-7), QString(QChar(0x2212)) + QStringLiteral("7"));
}

TEST(StepComparison, TakesTheStepThatIsTypicalOfTheRank) {
  tests::TwoRuns runs = tests::two_runs();
  // Of two ranks, the second one's step 3 takes as long as the run's steps do, the first one's step 4.
  runs.baseline.steps[2].end_ns -= 300'000;
  for (int step = 1; step <= 4; ++step) {
    const std::int64_t start = (step - 1) * kStepNs;
    runs.baseline.steps.push_back(
        {1, step, start, start + (step == 4 ? 8'000'000 : kStepNs), 0, 0});
  }
  runs.baseline.lanes.push_back({1, false, runs.baseline.strings.intern("host")});
  const DocumentPtr baseline = document(runs.baseline);
  EXPECT_EQ(first_choice(*baseline, *baseline, 0).baseline_step, 4);
  EXPECT_EQ(first_choice(*baseline, *baseline, 1), (StepChoice{1, 3, 3}));
  EXPECT_EQ(first_choice(*baseline, *baseline, 7).rank, 0);  // which it has not
}

TEST(StepComparison, APairIsFoundByEitherOfItsEvents) {
  const StepComparison step = comparison().step;
  for (const ComparedPair& pair : step.pairs) {
    EXPECT_EQ(step.pair_of(false, pair.events.baseline)->events, pair.events);
    EXPECT_EQ(step.pair_of(true, pair.events.candidate)->events, pair.events);
  }
  EXPECT_EQ(step.pair_of(false, 100'000), nullptr);
  EXPECT_EQ(step.pairs_of("no operator"), nullptr);
}

TEST(PairPlot, OfAMillionPairsShowsOneAtEachPlace) {
  std::vector<ComparedPair> pairs;
  for (std::int32_t n = 0; n < 1'000'000; ++n) {
    pairs.push_back({{n, n}, 1000 + n % 1000, 2000 + n % 1000, 0, {}});
  }
  const PairPlot plot(pairs);
  const std::vector<ComparedPair> seen = plot.seen(pairs);
  EXPECT_LE(seen.size(), 600u);
  EXPECT_GE(seen.size(), 50u);
  for (const ComparedPair& pair : pairs) {
    ASSERT_GE(plot.share(pair.baseline_ns), 0);
    ASSERT_LE(plot.share(pair.candidate_ns), 1);
  }
}

TEST(Drift, OfManyInstructionsShowsTheHighestAndLowestOfEachColumn) {
  traces::Trace ours, theirs;
  std::vector<profiler::EventMatch> pairs;
  for (std::int32_t n = 0; n < 20'000; ++n) {
    traces::Event event;
    event.kind = traces::EventKind::compute;
    event.end_ns = n + 1;
    ours.events.push_back(event);
    event.end_ns += n == 7'777 ? 500 : n == 9'999 ? -300 : n % 3;
    theirs.events.push_back(event);
    pairs.push_back({n, n});
  }
  ours.lanes = theirs.lanes = {{0, true, 0}};
  const Drift drift(ours, {0, 20'000}, theirs, {0, 20'000}, pairs);
  EXPECT_EQ(drift.highest_ns(), 500);
  EXPECT_EQ(drift.lowest_ns(), -300);
  const std::vector<DriftPoint> seen = drift.seen({0, 20'001}, 200);
  EXPECT_LE(seen.size(), 4u * 102);
  EXPECT_EQ(std::ranges::count(seen, 500, &DriftPoint::drift_ns), 1);
  EXPECT_EQ(std::ranges::count(seen, -300, &DriftPoint::drift_ns), 1);
  EXPECT_TRUE(std::ranges::is_sorted(seen, {}, &DriftPoint::at_ns));
  // Of a window the nearest beside it, too.
  const std::vector<DriftPoint> few = drift.seen({100, 103}, 0.1);
  ASSERT_EQ(few.size(), 5u);
  EXPECT_EQ(few.front().at_ns, 99);
  EXPECT_EQ(few.back().at_ns, 103);
}

TEST(TraceComparison, OfTwoPredictionsNoneIsCalledMeasured) {
  tests::TwoRuns runs = tests::two_runs();
  runs.candidate.metadata["step_time_low_ns"] = "18000000";
  runs.candidate.metadata["step_time_high_ns"] = "19000000";
  EXPECT_TRUE(comparison(runs).band);
  runs.baseline = runs.candidate;
  const TraceComparison c = comparison(runs);
  EXPECT_FALSE(c.sides.is_prediction);
  EXPECT_FALSE(c.band);
  EXPECT_EQ(c.words.lead,
            QStringLiteral("A step takes 18.50 ms before and 18.50 ms after: 0.0 %."));
  EXPECT_EQ(c.waterfall.front().label, QStringLiteral("before"));
}

TEST(TraceComparison, SaysWhyStepTimesCannotBeCompared) {
  tests::TwoRuns runs = tests::two_runs();
  runs.candidate.metadata["unknown_costs"] = "3";
  EXPECT_EQ(comparison(runs).words.lead,
            QStringLiteral("Step times cannot be compared: how long part of the step takes is "
                           "unknown (predicted)."));
  runs = tests::two_runs();
  runs.baseline.steps.clear();
  EXPECT_EQ(comparison(runs).words.lead,
            QStringLiteral("Step times cannot be compared: no complete step was recorded "
                           "(measured)."));
}

}  // namespace
}  // namespace foreshard::gui
