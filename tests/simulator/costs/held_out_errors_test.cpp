// The bands of predictions from held-out errors: what conformal prediction promises, and what the
// bundled errors hold when each source is left out in turn.
#include "simulator/costs/held_out_errors.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <regex>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/base/statistics.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard::simulator {
namespace {

double width(const ErrorSpread& spread, double admitted) {
  return spread.quantile * std::hypot(spread.deviation, admitted);
}

// Errors with long tails, of runs whose costs admit to different deviations: one more like them
// lies inside as often as promised, though nothing is known of the distribution.
TEST(HeldOutErrors, HoldTheirShareOfWhatComesNext) {
  std::mt19937_64 random(11);
  std::student_t_distribution<double> tailed(3);
  std::uniform_real_distribution<double> admits(0.01, 0.2);
  const auto drawn = [&] {
    const double admitted = admits(random);
    return HeldOutError{tailed(random) * std::hypot(0.05, admitted), admitted, "", true};
  };
  for (const std::size_t known : {std::size_t{12}, std::size_t{40}}) {
    int inside = 0;
    constexpr int kTried = 2'000;
    for (int i = 0; i < kTried; ++i) {
      std::vector<HeldOutError> errors(known);
      std::generate(errors.begin(), errors.end(), drawn);
      const HeldOutError next = drawn();
      inside += std::abs(next.logarithm) <= width(spread_of(errors), next.admitted) ? 1 : 0;
    }
    EXPECT_GT(inside, 0.88 * kTried) << known;
    EXPECT_LT(inside, 0.96 * kTried) << known;
  }
}

// Normal errors of 4 % beside what costs admit to: that is found, and 1.645 of it hold 90 %.
TEST(HeldOutErrors, FindWhatCostsLeaveOut) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 1);
  std::vector<HeldOutError> errors;
  for (int i = 0; i < 4'000; ++i) {
    const double admitted = 0.02 + 0.02 * (i % 3);
    errors.push_back({normal(random) * std::hypot(0.04, admitted), admitted, "", true});
  }
  const ErrorSpread spread = spread_of(errors);
  EXPECT_NEAR(spread.deviation, 0.04, 0.004);
  EXPECT_NEAR(spread.quantile, 1.645, 0.06);
}

TEST(HeldOutErrors, FewOfThemHaveTheLargest) {
  const std::vector<HeldOutError> errors{
      {0.1, 0, "", true}, {-0.3, 0, "", true}, {0.2, 0, "", true}};
  EXPECT_NEAR(width(spread_of(errors), 0), 0.3, 1e-9);
}

TEST(HeldOutErrors, WhatWasAssumedOfAPlanIsNoErrorOfThePrediction) {
  std::vector<HeldOutError> errors{{0.1, 0.05, "", true}, {-0.05, 0.02, "", true}};
  const ErrorSpread before = spread_of(errors);
  errors.push_back({0.9, 0.01, "", false});
  EXPECT_EQ(spread_of(errors).quantile, before.quantile);
  EXPECT_EQ(spread_of(errors).deviation, before.deviation);
}

// Of the bundled errors, those inside the bands that the other sources make.
struct LeftOut {
  double tried = 0, inside = 0;
  std::vector<double> widths;
};

LeftOut left_out_by_source(CostWay way, bool only_known) {
  const std::vector<HeldOutError>& all = held_out_errors(way);
  std::set<std::string> sources;
  for (const HeldOutError& error : all) sources.insert(error.source);
  LeftOut result;
  for (const std::string& source : sources) {
    std::vector<HeldOutError> others;
    std::copy_if(all.begin(), all.end(), std::back_inserter(others),
                 [&](const HeldOutError& error) { return error.source != source; });
    const ErrorSpread spread = spread_of(others);
    for (const HeldOutError& error : all) {
      if (error.source != source || (only_known && !error.has_known_settings)) continue;
      const double half_width = width(spread, error.admitted);
      result.tried += 1;
      result.inside += std::abs(error.logarithm) <= half_width ? 1 : 0;
      result.widths.push_back(std::sinh(half_width));  // half of exp(w) - exp(-w)
    }
  }
  return result;
}

TEST(HeldOutErrors, TheCataloguesBandHoldsRunsOfSourcesThatDidNotMakeIt) {
  const LeftOut all = left_out_by_source(CostWay::catalogue, false);
  ASSERT_GT(all.tried, 50);
  EXPECT_GE(all.inside, 0.80 * all.tried);
  EXPECT_LE(all.inside, 0.98 * all.tried);
  EXPECT_LE(median(all.widths), 0.17);
  const LeftOut known = left_out_by_source(CostWay::catalogue, true);
  EXPECT_GE(known.inside, 0.80 * known.tried);
  EXPECT_LE(median(known.widths), 0.15);
}

TEST(HeldOutErrors, SoDoesThatOfObservedRuns) {
  const LeftOut known = left_out_by_source(CostWay::observed, true);
  ASSERT_GT(known.tried, 10);
  EXPECT_GE(known.inside, 0.80 * known.tried);
  EXPECT_LE(median(known.widths), median(left_out_by_source(CostWay::catalogue, true).widths));
}

// "21 of the 22 ...": how many of how many; and half the band's width in percent.
std::string counts(const LeftOut& runs, const char* between) {
  return std::to_string(static_cast<int>(runs.inside)) + between +
         std::to_string(static_cast<int>(runs.tried));
}
std::string half_width(const LeftOut& runs) {
  return std::to_string(std::lround(100 * median(runs.widths))) + " %";
}

TEST(HeldOutErrors, AreWhatThePageOfAccuracySays) {
  const LeftOut known = left_out_by_source(CostWay::catalogue, true),
                all = left_out_by_source(CostWay::catalogue, false);
  const LeftOut observed = left_out_by_source(CostWay::observed, true);
  const LeftOut all_observed = left_out_by_source(CostWay::observed, false);
  const std::string page = tests::read_file(FORESHARD_SOURCE_DIR "/docs/accuracy.md");
  EXPECT_THAT(std::regex_replace(page, std::regex("\\s+"), " "),
              ::testing::HasSubstr(
                  counts(known, " of the ") +
                  " published runs whose settings are all known (median half-width " +
                  half_width(known) + ") and " + counts(all, " of all ") + " (" + half_width(all) +
                  "), of which most had settings to assume; after two other runs from the same "
                  "source were observed, " +
                  counts(observed, " of ") + " (" + half_width(observed) + ") and " +
                  counts(all_observed, " of ") + " (" + half_width(all_observed) + ")"));
}

}  // namespace
}  // namespace foreshard::simulator
