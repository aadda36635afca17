// Runs that this machine, or this checkpoint, cannot serve: told before or instead of a crash.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

TEST(Limits, ARunThatTheMachinesMemoryCannotHoldIsToldSo) {
  const Workplace place;
  const Outcome outcome = place.run({"train", "--model", "llama-3.1-405b", "--plan", "plan.toml",
                                     "--ranks", "1", "--steps", "1"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("of this machine's memory"), std::string::npos) << outcome.err;
}

TEST(Limits, ThreadsThatCannotBeStartedAreAnError) {
  const Workplace place;
  // Stacks of 1,023 threads take 8 GiB of addresses.
  const std::string command = "cd '" + place.path("").string() +
                              "' && ulimit -s 8192 && ulimit -v 3000000 && '" FORESHARD_PROGRAM
                              "' train --model model --plan plan.toml --ranks 1 --steps 1 "
                              "--threads-per-rank 1024 > /dev/null 2> err.txt";
  const int status = std::system(command.c_str());
  std::ostringstream err;
  err << std::ifstream(place.path("err.txt")).rdbuf();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1) << err.str();
  EXPECT_NE(err.str().find("cannot be started"), std::string::npos) << err.str();
}

TEST(Limits, ACheckpointOfAnotherOptimizerIsBadInput) {
  const Workplace place;
  place.write("sgd.toml", "[batch]\nmicro_batch = 1\nsequence = 16\n[optimizer]\nname = \"sgd\"\n");
  place.write("bf16.toml",
              "[batch]\nmicro_batch = 1\nsequence = 16\n[precision]\noptimizer_state = \"bf16\"\n");
  ASSERT_EQ(place.run(job("train", 2, {"--steps", "2", "--save", "saved"})).status, 0);
  for (const std::string plan : {"sgd.toml", "bf16.toml"}) {
    const Outcome outcome = place.run({"train", "--model", "model", "--plan", plan, "--ranks", "2",
                                       "--steps", "3", "--resume", "saved"});
    EXPECT_EQ(outcome.status, 2) << plan << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find("exp_avg"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace foreshard::cli_tests
