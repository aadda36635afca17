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

TEST(Calibrate, CtrlCEndsItWithWhatWasMeasured) {
  const Workplace place;
  const Outcome outcome = place.shell(
      "\"$FORESHARD\" calibrate -o costs.json --ranks 1 --time-limit 60 2>messages & "
      "until grep -q width messages; do sleep 0.1; done; kill -INT $!; wait $!");
  EXPECT_EQ(outcome.status, 0) << place.read("messages");
  EXPECT_NE(place.read("messages").find("was interrupted: the costs rest on"), std::string::npos)
      << place.read("messages");
  const json costs = json::parse(place.read("costs.json"), nullptr, false);
  EXPECT_GE(costs.at("calibration").size(), 1U);
}

TEST(Calibrate, CtrlCBeforeTheFirstCostLeavesNoFile) {
  const Workplace place;
  const std::vector<std::string> before = place.files();
  const Outcome outcome = place.shell(
      "TMPDIR=. \"$FORESHARD\" calibrate -o costs.json --ranks 1 & "
      "until ls foreshard-calibrate*/* >list 2>&1; do :; done; kill -INT $!; wait $!");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("was interrupted before anything was measured"), std::string::npos)
      << outcome.err;
  std::vector<std::string> after = place.files();
  std::erase(after, "list");
  EXPECT_EQ(after, before);
}

TEST(Calibrate, TellsWhatItHadNoTimeFor) {
  const Workplace place;
  const Outcome outcome =
      place.run({"calibrate", "-o", "costs.json", "--time-limit", "0.001", "--ranks", "2"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("nothing was measured of 2 ranks, bf16"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(json::parse(place.read("costs.json"), nullptr, false).at("calibration").size(), 1U);
}

}  // namespace
}  // namespace foreshard::cli_tests
