// Checkpoints and failures: Daly's published intervals, and the expected time against drawn failures.
#include "simulator/search/goodput.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace foreshard::simulator {
namespace {

constexpr double kMinute = 60, kHour = 3600;

// Figures 3 to 5 of the paper: 117, 57 and 9.1 minutes.
TEST(Goodput, TheIntervalIsThePublishedOne) {
  const auto minutes = [](double mean) {
    return checkpoint_interval({5 * kMinute, 10 * kMinute, mean}) / kMinute;
  };
  EXPECT_NEAR(minutes(24 * kHour), 117, 0.5);
  EXPECT_NEAR(minutes(6 * kHour), 57, 0.5);
  EXPECT_NEAR(minutes(15 * kMinute), 9.1, 0.05);
}

// A run of which segments fail at random and are then done again.
double drawn_goodput(const Reliability& run, double trained, std::mt19937_64& random) {
  std::exponential_distribution<double> failure(1 / run.between_failures);
  const double segment = checkpoint_interval(run) + run.save;
  double kept = 0, time = 0;
  while (kept < trained) {
    bool is_restarting = false;
    for (double next = failure(random); next < segment + (is_restarting ? run.restart : 0);
         next = failure(random)) {
      time += next;
      is_restarting = true;
    }
    time += segment + (is_restarting ? run.restart : 0);
    kept += segment - run.save;
  }
  return kept / time;
}

TEST(Goodput, IsWhatDrawnFailuresLeave) {
  std::mt19937_64 random(7);
  for (const Reliability& run : {Reliability{5 * kMinute, 10 * kMinute, 24 * kHour},
                                 Reliability{kMinute, 10 * kMinute, 3 * kHour},
                                 Reliability{5 * kMinute, 5 * kMinute, kHour}}) {
    const double drawn = drawn_goodput(run, 4000 * run.between_failures, random);
    EXPECT_NEAR(goodput(run), drawn, 0.01 * drawn) << run.between_failures;
  }
}

TEST(Goodput, NoOtherIntervalIsBetterAndReliableRunsLoseLittle) {
  const Reliability run{2 * kMinute, 10 * kMinute, 5 * kHour};
  const double best = checkpoint_interval(run), mean = run.between_failures;
  const auto share = [&](double interval) {
    return interval /
           (mean * std::exp(run.restart / mean) * std::expm1((interval + run.save) / mean));
  };
  EXPECT_GT(goodput(run), share(0.8 * best));
  EXPECT_GT(goodput(run), share(1.25 * best));
  EXPECT_GT(goodput({1, 1, 1e9}), 0.9999);
}

}  // namespace
}  // namespace foreshard::simulator
