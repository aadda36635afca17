// Costs of the emulated device: fitted to recordings of it, calibrated, and both together.
#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

class CostsOfADevice : public testing::Test {
 protected:
  Outcome run(std::vector<std::string> arguments) const {
    const Outcome outcome =
        place.run(arguments, {{"FORESHARD_MODULES", FORESHARD_EMULATED_MODULES}});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome;
  }

  Outcome record(int ranks, const std::string& trace) const {
    return run(job("train", ranks, {"--device", "cuda", "--steps", "4", "--trace", trace}));
  }

  json predict(int ranks, const std::string& costs, const std::string& device = "cuda") const {
    const Outcome outcome = run(job(
        "predict", ranks, {"--device", device, "--steps", "4", "--costs", costs, "--json", "-"}));
    return json::parse(outcome.out, nullptr, false);
  }

  json costs(const std::string& name) const {
    return json::parse(place.read(name), nullptr, false);
  }

  const Workplace place;
};

// Only the device's own program has the instructions and the scratch that were recorded.
TEST_F(CostsOfADevice, RecordingsAreReplayedOnIt) {
  record(2, "run.fst");
  const Outcome fitted = run({"fit", "run.fst", "-o", "costs.json"});
  EXPECT_EQ(fitted.err.find("could not be simulated"), std::string::npos) << fitted.err;
  const json table = costs("costs.json");
  EXPECT_EQ(table.at("machine").at("name"), "Foreshard's host device");
  EXPECT_GT(table.at("segments").at("allocs"), 0);
  EXPECT_GT(table.at("calibration").at(0).at("fitted_ns"), 0);

  const json predicted = predict(2, "costs.json");
  const json& sources = predicted.at("cost_sources");
  EXPECT_GT(sources.at("measured"), 100);
  for (const char* other : {"fitted", "modelled", "unknown"}) EXPECT_EQ(sources.at(other), 0);
  ASSERT_EQ(predicted.at("warnings").size(), 1U);  // of a device that no catalogue has
  EXPECT_NE(predicted.at("warnings")[0].get<std::string>().find("is not in the catalogue"),
            std::string::npos);
}

TEST_F(CostsOfADevice, AreCalibratedAndJoinedWithRecordings) {
  run({"calibrate", "--device", "cuda", "--ranks", "1", "--time-limit", "1", "-o", "known.json"});
  const json known = costs("known.json");
  EXPECT_EQ(known.at("machine").at("name"), "Foreshard's host device");
  EXPECT_EQ(known.at("machine").at("accelerator"), true);

  record(1, "run.fst");
  run({"fit", "run.fst", "--with", "known.json", "-o", "costs.json"});
  const json joined = costs("costs.json");
  EXPECT_EQ(joined.at("regimes").size(), 1U);
  EXPECT_GT(joined.at("calibration").size(), known.at("calibration").size());
  const json predicted = predict(1, "costs.json");
  EXPECT_EQ(predicted.at("cost_sources").at("unknown"), 0);
  EXPECT_EQ(predicted.at("cost_sources").at("fitted"), 0);
}

TEST_F(CostsOfADevice, AreNotTakenForAnother) {
  record(1, "gpu.fst");
  run({"fit", "gpu.fst", "-o", "gpu.json"});
  run(job("train", 1, {"--steps", "4", "--trace", "cpu.fst"}));
  run({"fit", "cpu.fst", "-o", "cpu.json"});
  const auto warning = [&](const std::string& costs, const std::string& device) {
    return predict(1, costs, device).at("warnings").dump();
  };
  EXPECT_NE(warning("cpu.json", "cuda").find("a GPU of compute capability 9.0"), std::string::npos);
  const std::string of_gpu = warning("gpu.json", "cpu");
  EXPECT_NE(of_gpu.find("the GPU Foreshard's host device"), std::string::npos) << of_gpu;
  EXPECT_NE(of_gpu.find("a CPU"), std::string::npos) << of_gpu;
  EXPECT_EQ(warning("cpu.json", "cpu").find("costs are of"), std::string::npos);
  const Outcome both = place.run({"fit", "cpu.fst", "gpu.fst", "-o", "both.json"});
  EXPECT_EQ(both.status, 2);
  EXPECT_NE(both.err.find("recordings of one machine"), std::string::npos) << both.err;
}

}  // namespace
}  // namespace foreshard::cli_tests
