// `foreshard train --device cuda` under mpirun, over the host's CUDA and NCCL: the id and the
// agreements go over MPI, the collectives over NCCL.
#include <chrono>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"
#include "tests/cli/torchrun.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class NcclUnderMpi : public testing::Test {
 protected:
  // Modules of both kinds in one folder, as they are installed.
  NcclUnderMpi() {
    fs::create_directory(modules_);
    for (const auto& file : fs::directory_iterator(FORESHARD_HOST_CUDA_MODULES)) {
      fs::create_symlink(file.path(), modules_ / file.path().filename());
    }
    fs::create_symlink(FORESHARD_MPI_MODULE, modules_ / fs::path(FORESHARD_MPI_MODULE).filename());
  }

  // A process and a GPU for each rank; `prepare` is a line of the shell in each process before.
  Outcome train(int ranks, std::vector<std::string> more, const std::string& prepare = ":") const {
    more.insert(more.begin(), {"--device", "cuda"});
    const std::string line = "export FORESHARD_HOST_CUDA_DEVICES=" + std::to_string(ranks) +
                             " FORESHARD_MODULES='" + modules_.string() + "'; " + prepare +
                             "; exec \"$@\"";
    return place_.run_processes(ranks, job("train", ranks, more), {"sh", "-c", line, "sh"});
  }

  json report(const std::string& name) const {
    std::ifstream file(place_.path(name));
    return json::parse(file, nullptr, false);
  }

  const Workplace place_;
  const fs::path modules_ = place_.path("modules");
};

TEST_F(NcclUnderMpi, AgreesWithThreads) {
  const Outcome processes = train(2, {"--steps", "2", "--json", "mpi.json"});
  ASSERT_EQ(processes.status, 0) << processes.err;
  const Outcome threads =
      place_.run(job("train", 2, {"--device", "cuda", "--steps", "2", "--json", "threads.json"}),
                 {{"FORESHARD_MODULES", modules_.string()}});
  ASSERT_EQ(threads.status, 0) << threads.err;
  const json ours = report("mpi.json"), theirs = report("threads.json");
  EXPECT_EQ(ours.at("ranks_memory"), theirs.at("ranks_memory"));
  for (std::size_t step = 0; step < 2; ++step) {
    EXPECT_NEAR(ours.at("steps").at(step).at("loss"), theirs.at("steps").at(step).at("loss"), 2e-4);
  }
}

TEST_F(NcclUnderMpi, ARankThatEndsEndsAllAndIsNamed) {
  const auto began = std::chrono::steady_clock::now();
  const Outcome outcome = train(3, {"--steps", "100000", "--hang-timeout", "1000"},
                                "export FORESHARD_FAULT=rank:1,step:2,kind:exit");
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.err.find("rank 1"), std::string::npos) << outcome.err;
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

// With several ranks out of memory the first of them by step, instruction and rank is reported by
// all.
TEST_F(NcclUnderMpi, TheFirstRankThatIsOutOfMemoryIsReported) {
  const auto with_less = [&](const std::string& of_rank_1, const std::string& of_rank_2) {
    const Outcome outcome =
        train(3, {"--steps", "3", "--json", "out.json"},
              "case $OMPI_COMM_WORLD_RANK in 1) export FORESHARD_HOST_CUDA_BYTES=" + of_rank_1 +
                  ";; 2) export FORESHARD_HOST_CUDA_BYTES=" + of_rank_2 + ";; esac");
    EXPECT_EQ(outcome.status, 3) << outcome.err;
    const json oom = report("out.json").at("oom");
    return std::tuple(oom.at("step").get<int>(), oom.at("instruction").get<int>(),
                      oom.at("rank").get<int>());
  };
  constexpr const char *kEnough = "64000000000", *kLess = "39500000", *kLeast = "20000000";
  const auto first = with_less(kLess, kEnough), second = with_less(kEnough, kLeast);
  EXPECT_EQ(std::get<2>(first), 1);
  EXPECT_EQ(std::get<2>(second), 2);
  EXPECT_LT(second, first);
  EXPECT_EQ(with_less(kLess, kLeast), second);
}

}  // namespace
}  // namespace foreshard::cli_tests
