// `foreshard train` in several processes says what it says with its ranks as threads.
#include <cstdlib>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

class Processes : public testing::Test {
 protected:
  void SetUp() override {
    if (!FORESHARD_HAS_MPI) GTEST_SKIP() << "built without MPI";
    if (std::system("command -v mpirun > /dev/null 2>&1") != 0) GTEST_SKIP() << "no mpirun";
  }

  json report(const std::string& name) const {
    std::ifstream file(place.path(name));
    return json::parse(file, nullptr, false);
  }

  // Trains as threads and as processes, expects both to end with `status`, and leaves their reports
  // in threads.json and processes.json.
  void train_both_ways(int ranks, int status, std::vector<std::string> more) const {
    more.insert(more.end(), {"--steps", "3", "--json"});
    more.emplace_back("threads.json");
    const Outcome threads = place.run(job("train", ranks, more));
    EXPECT_EQ(threads.status, status) << threads.err;
    more.back() = "processes.json";
    more.insert(more.end(), {"--comm", "mpi"});
    const Outcome processes = place.run_processes(ranks, job("train", ranks, more));
    EXPECT_EQ(processes.status, status) << processes.err;
  }

  const Workplace place;
};

TEST_F(Processes, AgreeWithThreads) {
  train_both_ways(3, 0, {});
  const json threads = report("threads.json"), processes = report("processes.json");
  for (const char* field : {"ranks_memory", "steps_memory", "oom"}) {
    EXPECT_EQ(threads.at(field), processes.at(field)) << field;
  }
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(threads.at("steps").at(s).at("loss"), processes.at("steps").at(s).at("loss"));
    EXPECT_EQ(threads.at("steps").at(s).at("grad_norm"),
              processes.at("steps").at(s).at("grad_norm"));
  }
}

// Every rank's shards are of another size, so they run out at different places.
TEST_F(Processes, AgreeOnWhereMemoryRanOut) {
  train_both_ways(3, 0, {});
  const json enough = report("threads.json");
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  for (const json& rank : enough.at("ranks_memory")) {
    lowest = std::min(lowest, rank.at("peak_reserved_bytes").get<std::int64_t>());
  }
  for (const std::int64_t missing : {1, 4 << 20}) {
    train_both_ways(3, 3, {"--device-memory", std::to_string(lowest - missing)});
    const json threads = report("threads.json"), processes = report("processes.json");
    EXPECT_TRUE(threads.at("oom").is_object());
    EXPECT_EQ(threads.at("oom"), processes.at("oom"));
  }
}

}  // namespace
}  // namespace foreshard::cli_tests
