#include "executor/device/numa.hpp"

#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"

namespace foreshard::executor {
namespace {

std::vector<int> own_processors() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> found;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) found.push_back(cpu);
  }
  return found;
}

TEST(Numa, NodesAreThoseOfTheSystemAsFarAsTheirProcessorsAreUsable) {
  const tests::TemporaryFolder root;
  const std::vector<int> own = own_processors();
  const auto add = [&](const std::string& node, const std::string& list) {
    const auto folder = std::filesystem::path(root.path()) / "sys/devices/system/node" / node;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "cpulist") << list << '\n';
  };
  EXPECT_TRUE(numa_nodes(root.path()).empty());
  add("node10", std::to_string(own.back()) + ",5000-5002");
  add("node2", std::to_string(own.front()));
  add("node3", "");  // memory alone
  add("node4", "no list");
  add("nodes", std::to_string(own.front()));
  const std::vector<std::vector<int>> expected{{own.front()}, {own.back()}};
  EXPECT_EQ(numa_nodes(root.path()), expected);
  add("node2", std::to_string(own.front()) + "-" + std::to_string(own.back()));
  EXPECT_EQ(numa_nodes(root.path())[0], own);
}

TEST(Numa, RanksShareOutTheNodesInOrder) {
  const std::vector<std::vector<int>> two{{0, 1, 2, 3}, {4, 5, 6, 7}};
  EXPECT_EQ(processors_of(two, 0, 2, 4), two[0]);
  EXPECT_EQ(processors_of(two, 1, 2, 4), two[1]);
  EXPECT_EQ(processors_of(two, 3, 8, 1), two[0]);
  EXPECT_EQ(processors_of(two, 4, 8, 1), two[1]);
  EXPECT_EQ(processors_of(two, 1, 3, 2), two[0]);
  // Left free: a rank larger than a node, three ranks of two threads on four processors, half of the machine,
  // one node, none.
  EXPECT_TRUE(processors_of(two, 0, 1, 8).empty());
  EXPECT_TRUE(processors_of(two, 0, 6, 2).empty());
  EXPECT_TRUE(processors_of(two, 0, 2, 2).empty());
  EXPECT_TRUE(processors_of(std::span(two).first(1), 0, 2, 2).empty());
  EXPECT_TRUE(processors_of({}, 0, 2, 1).empty());
}

TEST(Numa, ThreadsStartedMeanwhileRunThereAndLaterOnesWhereTheyMay) {
  const std::vector<int> own = own_processors();
  const std::vector<int> one{own.back()};
  std::vector<int> inside, after;
  {
    const OnProcessors here(one);
    std::thread([&] { inside = own_processors(); }).join();
    const OnProcessors nothing({});
    EXPECT_EQ(own_processors(), one);
  }
  std::thread([&] { after = own_processors(); }).join();
  EXPECT_EQ(inside, one);
  EXPECT_EQ(after, own);
}

}  // namespace
}  // namespace foreshard::executor
