// A kernel that fails in a run of `foreshard train --device cuda`, on the emulated device: whose it was is
// told where the run waits for each instruction, and otherwise how to learn it.
#include <map>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using Variables = std::map<std::string, std::string>;

class LaunchCheckTest : public testing::Test {
 protected:
  // What is said of a run whose kernel `fault` fails.
  std::string complaint(const std::string& fault, const Variables& more,
                        const std::vector<std::string>& options = {}) const {
    Variables variables{{"FORESHARD_MODULES", FORESHARD_HOST_CUDA_MODULES},
                        {"FORESHARD_HOST_CUDA_FAULT", fault}};
    variables.insert(more.begin(), more.end());
    std::vector<std::string> all{"--device", "cuda", "--steps", "3"};
    all.insert(all.end(), options.begin(), options.end());
    const Outcome outcome = place_.run(job("train", 2, all), variables);
    EXPECT_EQ(outcome.status, 1) << outcome.out;
    return outcome.err.substr(std::min(outcome.err.find("error: "), outcome.err.size()));
  }

  const Workplace place_;
};

TEST_F(LaunchCheckTest, InstructionsWhoseKernelFailsAreNamed) {
  const Variables checked{{"FORESHARD_CUDA_CHECK", "1"}}, blocking{{"CUDA_LAUNCH_BLOCKING", "1"}};
  const std::string reason = ": an illegal memory access was encountered (700)\n";
  // Parameters of kernels tell which they are: only those of attention have its sizes.
  for (const Variables& how : {checked, blocking}) {
    const std::string text = complaint("1:AttentionSizes", how);
    EXPECT_NE(text.find(" of step 1 (attention of model.layers.0): "), std::string::npos) << text;
    EXPECT_NE(text.find(reason), std::string::npos) << text;
  }
  // The step's numbers are written before its first kernel's work.
  const std::string scalars = complaint("1:OptimizerScalars", checked, {"--cuda-graphs", "on"});
  EXPECT_NE(scalars.find(" of step 0 (rope_table): "), std::string::npos) << scalars;
  EXPECT_NE(scalars.find(reason), std::string::npos) << scalars;
}

TEST_F(LaunchCheckTest, OtherwiseItIsSaidHowToLearnIt) {
  for (const char* graphs : {"off", "on"}) {
    const std::string text = complaint("5:AttentionSizes", {}, {"--cuda-graphs", graphs});
    EXPECT_NE(
        text.find("an illegal memory access was encountered (700); set FORESHARD_CUDA_CHECK=1 "
                  "to have the instruction named"),
        std::string::npos)
        << text;
    EXPECT_EQ(text.find(" of step "), std::string::npos) << "it may be another one: " << text;
  }
}

TEST_F(LaunchCheckTest, RunsAreTheSameOtherwise) {
  const Variables modules{{"FORESHARD_MODULES", FORESHARD_HOST_CUDA_MODULES}};
  Variables checked = modules;
  checked["FORESHARD_CUDA_CHECK"] = "1";
  const auto losses = [&](const Variables& variables) {
    const Outcome outcome =
        place_.run(job("train", 2, {"--device", "cuda", "--steps", "3", "--json", "-"}), variables);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::vector<double> all;
    for (const auto& step : nlohmann::json::parse(outcome.out).at("steps")) {
      all.push_back(step.at("loss"));
    }
    return all;
  };
  EXPECT_EQ(losses(checked), losses(modules));
}

}  // namespace
}  // namespace foreshard::cli_tests
