// Runs of three processes under mpirun: the collectives, and how a failing rank ends the run.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace foreshard::executor {
namespace {

struct Outcome {
  int status = -1;
  std::string output;
};

class Mpi : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "MPI itself is not built with sanitizers";
#endif
    if (std::system("command -v mpirun > /dev/null 2>&1") != 0)
      GTEST_SKIP() << "needs mpirun (package openmpi-bin of Debian)";
    if (!std::filesystem::exists(FORESHARD_BINARY_DIR "/bin/libforeshard_mpi.so")) {
      GTEST_SKIP() << "needs a build with MPI (package libopenmpi-dev of Debian)";
    }
  }

  static Outcome run(const std::string& argument, const std::string& fault) {
    const std::string command = "FORESHARD_FAULT=" + fault +
                                " timeout 60 mpirun --allow-run-as-root --oversubscribe -n 3 "
                                "'" FORESHARD_BINARY_DIR "/bin/mpi_rank' " +
                                argument + " 2>&1";
    Outcome outcome;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return outcome;
    std::array<char, 4096> block{};
    while (const std::size_t n = fread(block.data(), 1, block.size(), pipe)) {
      outcome.output.append(block.data(), n);
    }
    outcome.status = WEXITSTATUS(pclose(pipe));
    return outcome;
  }
};

TEST_F(Mpi, CollectivesKeepTheirPromises) {
  const Outcome outcome = run("checks", "");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST_F(Mpi, RunWithoutFaultEndsWell) {
  const Outcome outcome = run("steps", "");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST_F(Mpi, ThrowingRankIsNamed) {
  const Outcome outcome = run("steps", "rank:1,step:3,kind:throw");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("rank 1: ordered to throw"), std::string::npos) << outcome.output;
}

// `timeout` would say 124.
TEST_F(Mpi, ARankThatUnwindsEndsAll) {
  EXPECT_EQ(run("unwinds", "").status, 1);
}

TEST_F(Mpi, ExitingRankIsNamed) {
  const Outcome outcome = run("steps", "rank:2,step:3,kind:exit");
  EXPECT_NE(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("rank 2: its process has ended"), std::string::npos)
      << outcome.output;
}

TEST_F(Mpi, HangingRankIsNamed) {
  const Outcome outcome = run("steps", "rank:0,step:3,kind:hang");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("rank 0: no progress"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace foreshard::executor
