// The machine at hand calibrated, and what the other commands do with the file.
#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

TEST(Calibrate, PredictAndFitTakeItsFile) {
  const Workplace place;
  const Outcome calibrated =
      place.run({"calibrate", "-o", "calibrated.json", "--time-limit", "2", "--ranks", "2"});
  ASSERT_EQ(calibrated.status, 0) << calibrated.err;
  EXPECT_NE(calibrated.err.find("100/100"), std::string::npos) << calibrated.err;
  const json predicted =
      place.run_json(job("predict", 1, {"--steps", "5", "--costs", "calibrated.json"}));
  const json measured = place.run_json(job("train", 1, {"--steps", "5", "--trace", "run.fst"}));
  const double ratio =
      predicted.at("step_time_ns").get<double>() / measured.at("step_time_ns").get<double>();
  constexpr double kBusyMachine = 50;
  EXPECT_LT(ratio, kBusyMachine);
  EXPECT_GT(ratio, 1 / kBusyMachine);

  const Outcome fitted =
      place.run({"fit", "run.fst", "--with", "calibrated.json", "-o", "costs.json"});
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  const json better = place.run_json(job("predict", 1, {"--steps", "5", "--costs", "costs.json"}));
  EXPECT_GT(better.at("cost_sources").at("measured"), predicted.at("cost_sources").at("measured"));
  const Outcome missing = place.run({"fit", "run.fst", "--with", "none.json", "-o", "costs.json"});
  EXPECT_EQ(missing.status, 2);
}

}  // namespace
}  // namespace foreshard::cli_tests
