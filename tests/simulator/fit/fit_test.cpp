// Recordings made up from known costs: the fit must find them again.
#include "simulator/fit/fit.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "simulator/fit/fit_samples.hpp"
#include "simulator/fit/fit_tables.hpp"
#include "tests/simulator/cost_keys.hpp"
#include "traces/metadata.hpp"

namespace foreshard::simulator {
namespace {

using traces::Event;
using traces::EventKind;

// A recording of one rank with a host, a compute stream and a communication stream.
class FakeRun {
 public:
  explicit FakeRun(int ranks = 1, int threads = 1) {
    traces::RunDescription run;
    run.ranks = ranks;
    run.threads_per_rank = threads;
    trace.metadata = traces::run_metadata(run);
    for (int r = 0; r < ranks; ++r) {
      for (const char* name : {"host", "compute", "all_gather"}) {
        trace.lanes.push_back({r, name != std::string("host"), trace.strings.intern(name)});
      }
    }
    for (int step = 0; step <= 3; ++step) trace.steps.push_back({0, step, 0, 1000, 0, 0});
  }

  void add(int lane, EventKind kind, const CostKey& key, std::int64_t start, double ns,
           double cpu = -1) {
    Event event;
    event.lane = lane;
    event.kind = kind;
    event.step = 3;
    event.instruction = instruction_++;
    event.start_ns = start;
    event.end_ns = start + std::llround(ns);
    event.cpu_ns = cpu < 0 ? event.end_ns - event.start_ns : std::llround(cpu);
    event.cost_key = trace.strings.intern(text(key));
    event.name = trace.strings.intern(name(key.op));
    trace.events.push_back(event);
  }

  traces::Trace trace;

 private:
  std::int32_t instruction_ = 0;
};

CostKey all_gather(std::int64_t bytes, std::int64_t ranks) {
  return {Operator::all_gather, DType::fp32, DType::fp32, DType::fp32, {bytes, ranks, 0, 0, 0}};
}
CostKey swiglu(std::int64_t t, std::int64_t f) {
  return {Operator::swiglu, DType::fp32, DType::fp32, DType::fp32, {t, f, 0, 0, 0}};
}

TEST(Fit, FindsTheParametersOfAnOperator) {
  // 5 us + 0.03 ns per FLOP, with 2 % of noise.
  FakeRun run;
  std::mt19937 random(1);
  std::normal_distribution<double> noise(1.0, 0.02);
  std::int64_t at = 0;
  for (const std::int64_t t : {16, 64, 128, 256, 512}) {
    for (const std::int64_t n : {64, 384, 1024}) {
      for (int i = 0; i < 20; ++i) {
        const CostKey key = matmul(t, n, 384);
        run.add(1, EventKind::compute, key, at, (5000 + 0.03 * flops(key)) * noise(random));
        at += 1'000'000'000;
      }
    }
  }
  const auto result = fit({{"run.fst", &run.trace}});
  ASSERT_TRUE(result) << result.error().text();
  const OperatorFit& found = result->table.regimes.at(0).operators.at(0);
  EXPECT_NEAR(found.ns_per_flop, 0.03, 0.001);
  EXPECT_NEAR(found.overhead_ns, 5000, 1000);
  EXPECT_LT(found.residual, 0.02);
  EXPECT_EQ(found.range.samples, 15);
}

TEST(Fit, FindsTheParametersOfACollective) {
  // 40 us + 2 ns per root byte + 0.3 ns per byte, on two ranks.
  FakeRun run(2);
  std::int64_t at = 0;
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 24; bytes *= 4) {
    for (const int lane : {2, 5}) {
      const double ns =
          40'000 + 2 * std::sqrt(static_cast<double>(bytes)) + 0.3 * static_cast<double>(bytes);
      run.add(lane, EventKind::communication, all_gather(bytes, 2), at, ns);
    }
    at += 1'000'000'000;
  }
  const auto result = fit({{"run.fst", &run.trace}});
  ASSERT_TRUE(result) << result.error().text();
  const CollectiveFit& found = result->table.regimes.at(0).collectives.at(0);
  EXPECT_EQ(found.group, 2);
  EXPECT_NEAR(found.base_ns, 40'000, 400);
  EXPECT_NEAR(found.ns_per_byte, 0.3, 0.003);
  EXPECT_LT(found.residual, 0.001);
}

TEST(Fit, ProcessorTimeCountsWhereCoresAreShared) {
  // The task was on the processor for half of its time.
  FakeRun run(4);
  for (int i = 0; i < 9; ++i)
    run.add(1, EventKind::compute, matmul(8, 8, 8), i * 10'000, 2000, 1000);
  const auto result = fit({{"run.fst", &run.trace}});
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->table.regimes.at(0).measured.at(matmul(8, 8, 8)).ns, 1000);
}

TEST(Fit, FindsTheMemoryBandwidthFromOverlappedTasks) {
  // Alone each task moves 8 bytes/ns; two at a time share 10, so each takes 16 / 10 as long.
  FakeRun run(2);
  const CostKey key = swiglu(1024, 1024);
  const double alone = bytes_moved(key) / 8;
  std::int64_t at = 0;
  for (int i = 0; i < 40; ++i, at += 100'000'000) {
    const bool together = i % 2 == 0;
    run.add(1, EventKind::compute, key, at, together ? 1.6 * alone : alone);
    if (together) run.add(4, EventKind::compute, key, at, 1.6 * alone);
  }
  const RunSamples samples = *samples_of(run.trace, "run.fst");
  EXPECT_NEAR(fit_memory_bandwidth({&samples}), 10, 0.8);  // the grid is 15 % coarse
}

TEST(Fit, WithoutOverlapThereIsNoLimit) {
  FakeRun run;
  for (int i = 0; i < 40; ++i) run.add(1, EventKind::compute, swiglu(64, 64), i * 1'000'000, 5000);
  const RunSamples samples = *samples_of(run.trace, "run.fst");
  EXPECT_EQ(fit_memory_bandwidth({&samples}), 0);
}

TEST(Fit, RefusesWhatItCannotUse) {
  EXPECT_FALSE(fit({}));
  FakeRun empty;
  EXPECT_EQ(fit({{"empty.fst", &empty.trace}}).error().file, "empty.fst");

  FakeRun a, b;
  a.add(1, EventKind::compute, matmul(8, 8, 8), 0, 1000);
  b.add(1, EventKind::compute, matmul(8, 8, 8), 0, 1000);
  b.trace.metadata["cpu_model"] = "another";
  const auto mixed = fit({{"a.fst", &a.trace}, {"b.fst", &b.trace}});
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().file, "b.fst");
}

TEST(Fit, RefusesPredictionsAndMetadataThatNoRunHas) {
  const auto error_of = [](const std::string& key, const std::string& value) {
    FakeRun run;
    run.add(1, EventKind::compute, matmul(8, 8, 8), 0, 1000);
    run.trace.metadata[key] = value;
    const auto result = fit({{"run.fst", &run.trace}});
    return result ? "" : result.error().text();
  };
  EXPECT_EQ(error_of("predicted", "1"),
            "run.fst: predicted: is a prediction; expected a recording of a real run");
  for (const char* value : {"0", "-3", "4294967296", "5000000000", "99999999999999999999", "two"}) {
    for (const char* key : {"ranks", "threads_per_rank", "cores"}) {
      EXPECT_TRUE(error_of(key, value)
                      .starts_with("run.fst: " + std::string(key) + ": is '" + value +
                                   "'; expected an integer from 1 to "))
          << error_of(key, value);
    }
  }
  EXPECT_EQ(error_of("cores", "1048576"), "");
}

TEST(Fit, GroupsOfRanksThatWereNotRecordedMayHaveWaited) {
  // Ranks 0 and 1 of four meet two others; their own ends being close proves nothing. Waiting for
  // those made most meetings take twice as long as the quickest.
  FakeRun run(2);
  run.trace.metadata["ranks"] = "4";
  for (int i = 0; i < 20; ++i) {
    for (const int lane : {2, 5}) {
      run.add(lane, EventKind::communication, all_gather(1024, 2), i * 1'000'000,
              i < 3 ? 10'000 : 20'000);
      run.trace.events.update_last([&](Event& e) {
        e.cpu_ns = -1;
        e.instruction = i;
      });
    }
  }
  const auto result = fit({{"run.fst", &run.trace}});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_DOUBLE_EQ(result->table.regimes.at(0).measured.at(all_gather(1024, 2)).ns, 10'000);
}

TEST(Fit, WhatIsTinyAndSlowHasAnOverheadNotARate) {
  // 20 ms for four bytes, and for a sum of eight among two ranks.
  FakeRun run(2);
  for (int i = 0; i < 5; ++i) {
    run.add(1, EventKind::compute, swiglu(1, 1), i * 100'000'000, 2e7);
    for (const int lane : {2, 5}) {
      run.add(lane, EventKind::communication, all_gather(8, 2), i * 100'000'000, 2e7);
    }
  }
  const auto result = fit({{"run.fst", &run.trace}});
  ASSERT_TRUE(result) << result.error().text();
  const ThreadCountCosts& regime = result->table.regimes.at(0);
  EXPECT_NEAR(regime.operators.at(0).overhead_ns, 2e7, 1);
  EXPECT_EQ(regime.operators.at(0).ns_per_byte, 0);
  EXPECT_NEAR(regime.collectives.at(0).base_ns, 2e7, 1);
  EXPECT_TRUE(parse_cost_table(to_json(result->table), "costs.json"));
}

TEST(Fit, TellsIssuesOfFarRanksApart) {
  // Rank 262144, packed above 48 bits of a 64-bit number, would be rank 0.
  FakeRun run(2);
  run.trace.lanes[3].rank = run.trace.lanes[4].rank = 1 << 18;
  const CostKey key = matmul(8, 8, 8);
  for (int i = 0; i < 4; ++i) {
    for (const int first : {0, 3}) {
      const std::int64_t at = i * 1'000'000 + first * 100'000;
      run.add(first, EventKind::host, key, at, 1000);
      run.add(first + 1, EventKind::compute, key, at + 3000, 5000);
      for (const std::size_t back : {1u, 2u}) {
        run.trace.events.update(run.trace.events.size() - back,
                                [&](Event& event) { event.instruction = i; });
      }
    }
  }
  const auto samples = samples_of(run.trace, "run.fst");
  ASSERT_TRUE(samples);
  ASSERT_EQ(samples->launch_latency.size(), 6U);  // of all but the first of each stream
  for (const double ns : samples->launch_latency) EXPECT_DOUBLE_EQ(ns, 2000);
}

TEST(Fit, ReportsEveryOperatorAndRecording) {
  FakeRun run;
  for (int i = 0; i < 9; ++i) run.add(1, EventKind::compute, matmul(8 + i, 8, 8), i * 10'000, 2000);
  const auto result = fit({{"my run.fst", &run.trace}});
  ASSERT_TRUE(result);
  const std::string report = fit_report(result->table);
  EXPECT_NE(report.find("matmul"), std::string::npos);
  EXPECT_NE(report.find("my run.fst"), std::string::npos);
}

TEST(Quantile, IsAValueOfTheSample) {
  std::vector<double> values{5, 1, 3, 2, 4};
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 1), 5);
  std::vector<double> none;
  EXPECT_EQ(quantile(none, 0.5), 0);
}

}  // namespace
}  // namespace foreshard::simulator
