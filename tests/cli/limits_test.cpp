// Runs that this machine, or this checkpoint, cannot serve: told before or instead of a crash.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer needs more addresses than the limit leaves";
#endif
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

// Whatever thread it is that there is no room for, the run ends by itself with that error.
void expect_an_end(const Outcome& outcome, int& successes, int& failures) {
  if (outcome.status == 0) {
    ++successes;
    return;
  }
  ++failures;
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("foreshard: error: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("cannot be started"), std::string::npos) << outcome.err;
}

TEST(Limits, AnyThreadMayBeTheOneTooMany) {
  const Workplace place;
  std::string as_user = "exec";
  if (::geteuid() == 0) {  // whom the limit does not bind
    std::filesystem::permissions(place.path(""), std::filesystem::perms::all);
    as_user = "exec setpriv --reuid 65534 --regid 65534 --clear-groups";
    // Through another program, as below: setpriv itself still reaches what the user may not.
    const std::string probe = as_user + " env \"$FORESHARD\" --version";
    if (place.shell(probe).status != 0) {
      GTEST_SKIP() << "nobody else may run the program";
    }
  }
  // The limit is on all threads of the user, so those of other programs come first.
  const Outcome others = place.shell(
      "ps -L -o lwp= -U " + std::to_string(::geteuid() == 0 ? 65534 : ::geteuid()) + " | wc -l");
  ASSERT_EQ(others.status, 0) << others.err;
  const int before = std::stoi(others.out);
  int successes = 0, failures = 0;
  for (int more = 1; more <= 40; ++more) {
    const Outcome outcome = place.shell(
        as_user + " prlimit --nproc=" + std::to_string(before + more) +
        " \"$FORESHARD\" train --model model --plan plan.toml --ranks 4 --threads-per-rank 2 "
        "--steps 1");
    expect_an_end(outcome, successes, failures);
  }
  EXPECT_GT(successes, 0);
  EXPECT_GT(failures, 20);
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
