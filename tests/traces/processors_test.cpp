// Which processors a process may use, and how the processes of a run share them.
#include "traces/processors.hpp"

#include <cmath>

#include <gtest/gtest.h>
#include <sched.h>

#include "tests/temporary_folder.hpp"

namespace foreshard::traces {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

double quota(const Files& files) {
  const tests::TemporaryFolder root;
  for (const auto& [name, text] : files) {
    std::filesystem::create_directories(std::filesystem::path(root.path(name)).parent_path());
    root.write(name, text);
  }
  return cpu_quota(root.path());
}

TEST(Processors, AffinityCounts) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  std::size_t first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(own_processors().usable, std::vector{static_cast<int>(first)});
  EXPECT_EQ(cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(own_processors().usable.size(), static_cast<std::size_t>(CPU_COUNT(&before)));
}

TEST(Processors, QuotasOfControlGroups) {
  EXPECT_TRUE(std::isinf(quota({})));
  EXPECT_TRUE(std::isinf(
      quota({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "max 100000\n"}})));
  EXPECT_EQ(quota({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "250000 100000\n"}}),
            2.5);
  // The tightest of the groups above counts.
  EXPECT_EQ(quota({{"proc/self/cgroup", "0::/a/b\n"},
                   {"sys/fs/cgroup/a/cpu.max", "300000 100000\n"},
                   {"sys/fs/cgroup/a/b/cpu.max", "max 100000\n"}}),
            3);
  // Version 1, seen from a container: the path is the host's.
  EXPECT_EQ(quota({{"proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/docker/0123\n"},
                   {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n"},
                   {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}}),
            4);
  EXPECT_TRUE(std::isinf(quota({{"proc/self/cgroup", "4:cpu,cpuacct:/\n"},
                                {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
                                {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}})));
  EXPECT_TRUE(std::isinf(
      quota({{"proc/self/cgroup", "no group\n::\n"}, {"sys/fs/cgroup/cpu.max", "lots 0\n"}})));
}

Processors on(const std::string& node, std::vector<int> usable,
              double quota = std::numeric_limits<double>::infinity()) {
  return {node, std::move(usable), quota, "group"};
}

TEST(Processors, WhatNobodyBoundIsDivided) {
  const std::vector<Processors> all(2, on("a", {0, 1, 2, 3, 4}));
  EXPECT_EQ(share_of_cores(all, 0), 2);
  EXPECT_EQ(total_cores(all), 5);
  EXPECT_EQ(share_of_cores(std::vector<Processors>(9, on("a", {0, 1})), 8), 1);
}

TEST(Processors, WhatIsBoundIsNotDividedAgain) {
  const std::vector<Processors> all = {on("a", {0, 1}), on("a", {2, 3}), on("b", {0, 1, 2, 3})};
  EXPECT_EQ(share_of_cores(all, 0), 2);
  EXPECT_EQ(share_of_cores(all, 1), 2);
  EXPECT_EQ(share_of_cores(all, 2), 4);
  EXPECT_EQ(total_cores(all), 8);
}

TEST(Processors, QuotasAreSharedInTheirGroup) {
  const std::vector<Processors> all(2, on("a", {0, 1, 2, 3, 4, 5, 6, 7}, 4.5));
  EXPECT_EQ(share_of_cores(all, 1), 2);
  EXPECT_EQ(total_cores(all), 4);
  EXPECT_EQ(share_of_cores({on("a", {0, 1}, 0.25)}, 0), 1);
}

TEST(Processors, TravelAsText) {
  const Processors own = own_processors(), back = processors_from_text(to_text(own));
  EXPECT_EQ(back.node, own.node);
  EXPECT_EQ(back.usable, own.usable);
  EXPECT_EQ(back.quota, own.quota);
  EXPECT_EQ(back.quota_group, own.quota_group);
  EXPECT_EQ(processors_from_text(to_text(on("n", {1, 5}, 2.5))).quota, 2.5);
  EXPECT_TRUE(processors_from_text("").usable.empty());
}

}  // namespace
}  // namespace foreshard::traces
