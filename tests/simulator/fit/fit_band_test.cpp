// The band of predictions, from errors that are given.
#include "simulator/fit/fit_band.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "simulator/costs/joined_errors.hpp"

namespace foreshard::simulator {
namespace {

// Runs measured at 100 ms, predicted from the others to take so much.
CostTable table_of(const std::vector<double>& held_out_ms, double uncertainty = 0) {
  CostTable table;
  for (const double ms : held_out_ms) {
    Calibration run;
    run.measured_ns = 100'000'000;
    run.fitted_ns = 100'000'000;  // in hindsight every run is exact
    run.held_out_ns = static_cast<std::int64_t>(ms * 1e6);
    run.held_out_uncertainty = uncertainty;
    table.calibration.push_back(run);
  }
  return table;
}

double width_of(const std::vector<double>& held_out_ms) {
  return band_of(table_of(held_out_ms)).half_width;
}

TEST(Band, OneRecordingSaysNothingOfTheError) {
  CostTable table = table_of({0});  // exact in hindsight, never held out
  EXPECT_GT(band_of(table).half_width, 0.10);
  EXPECT_EQ(band_of(table).errors, 0);
  table.is_accelerator = true;
  EXPECT_GT(band_of(table).half_width, 0.3);
}

TEST(Band, GrowsWithTheErrorsWithoutLimit) {
  EXPECT_LT(width_of({101, 99, 100, 102, 98}), width_of({}));
  EXPECT_GT(width_of({107, 93, 106, 94, 107}), width_of({101, 99, 100, 102, 98}));
  EXPECT_GT(width_of({170, 60, 165, 60, 180}), 0.6);
}

TEST(Band, IsStudentsDistribution) {
  // Errors of 4 %, nine of them, and the assumption's three of 5 %: sqrt((9 x 0.04^2 + 3 x 0.05^2)
  // / 12) = 0.0427; 95 % of Student's distribution with 12 degrees of freedom lie below 1.782.
  const double e = 100 * std::exp(0.04);
  EXPECT_NEAR(width_of({e, e, e, e, e, e, e, e, e}), 1.782 * 0.0427, 0.001);
}

TEST(Band, HoldsTheMachinesChangesOfSpeed) {
  CostTable table = table_of({101, 99, 100, 102, 98});
  const double quiet = band_of(table).half_width;
  table.slowness_spread = 0.08;
  EXPECT_GT(band_of(table).half_width, std::max(quiet, 1.65 * 0.08));
}

TEST(Band, ErrorsAreRelativeToTheRecordingsSpeed) {
  // Each run is off by exactly what the machine was slower or faster meanwhile.
  CostTable table = table_of({100, 100, 100});
  table.calibration[0].measured_ns = 110'000'000;
  table.calibration[0].slowness = 1.1;
  EXPECT_NEAR(held_out_error(table.calibration[0]), 0, 1e-9);
}

TEST(Band, UnsureCostsThatAreFurtherOffThanTheyAdmitAreWidened) {
  EXPECT_EQ(band_of(table_of({104, 96, 105}, 0.1)).uncertainty_scale, 1);
  const Band wrong = band_of(table_of({200, 45, 210, 200}, 0.1));
  EXPECT_GT(wrong.uncertainty_scale, 4);
  EXPECT_LT(wrong.half_width, 0.15);  // what is sure is not suspected for it
  EXPECT_EQ(wrong.errors, 4);
}

TEST(Band, IsCheckedOnTimesAsTheyWereMeasured) {
  // At equal speed all are exact; as measured, one in five ran while the machine was half as slow
  // again, of which a spread of 5 % warns too little.
  CostTable table = table_of({100, 100, 100, 100, 100});
  table.slowness_spread = 0.05;
  table.calibration[0].measured_ns = 150'000'000;
  table.calibration[0].slowness = 1.5;
  EXPECT_EQ(check_band(table).tried, 5);
  EXPECT_EQ(check_band(table).inside, 4);
}

TEST(Band, IsCheckedOnErrorsThatDidNotMakeIt) {
  // Eight good predictions and one that is off by half: the band of the others does not hold it,
  // although one that it had made itself would be wide.
  const BandCheck check = check_band(table_of({101, 99, 102, 98, 101, 99, 102, 98, 200}));
  EXPECT_EQ(check.tried, 9);
  EXPECT_EQ(check.inside, 8);
  EXPECT_EQ(check_band(table_of({101})).tried, 0);
}

}  // namespace
}  // namespace foreshard::simulator
