// Launches keep what they were given until they have run, in memory that is used again.
#include "executor/cpu/launch_queue.hpp"

#include <array>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace foreshard::executor {
namespace {

constexpr CostKey kKey{Operator::add, DType::fp32, DType::fp32, DType::fp32, {1}};

// Lists of operands as long as the interpreter's, which changes them after every launch.
struct Lists {
  void fill(std::size_t count, std::size_t number) {
    reads.assign(count, std::span<const std::byte>());
    writes.assign(count / 2, std::span<std::byte>());
    for (auto& r : reads) r = {memory.data() + number, 1};
    for (auto& w : writes) w = {memory.data() + number, 2};
  }

  std::array<std::byte, 1000> memory{};
  std::vector<std::span<const std::byte>> reads;
  std::vector<std::span<std::byte>> writes;
};

TEST(LaunchQueue, KeepsOperandsAndNumbersOfEachLaunch) {
  LaunchQueue queue;
  Lists lists;
  std::mt19937 random(1);
  std::vector<const LaunchQueue::Entry*> entries;
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < 300; ++i) {
    counts.push_back(i % 50 == 7 ? 3000 : random() % 20);  // some exceed a chunk
    lists.fill(counts.back(), i);
    KernelScalars scalars;
    scalars.lr = static_cast<double>(i);
    entries.push_back(&queue.add(
        {kKey, lists.reads, lists.writes, static_cast<std::int32_t>(i), nullptr, scalars}));
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const KernelLaunch& launch = entries[i]->launch;
    queue.begin(*entries[i]);
    EXPECT_EQ(&launch.key, &kKey);
    EXPECT_EQ(launch.aux, static_cast<std::int32_t>(i));
    EXPECT_EQ(launch.scalars.lr, static_cast<double>(i));
    ASSERT_EQ(launch.reads.size(), counts[i]);
    ASSERT_EQ(launch.writes.size(), counts[i] / 2);
    for (const auto& read : launch.reads) EXPECT_EQ(read.data(), lists.memory.data() + i);
    for (const auto& write : launch.writes) EXPECT_EQ(write.data(), lists.memory.data() + i);
  }
}

TEST(LaunchQueue, UsesItsMemoryAgain) {
  LaunchQueue queue;
  Lists lists;
  std::set<const void*> places;
  for (int round = 0; round < 50; ++round) {
    std::vector<const LaunchQueue::Entry*> entries;
    for (const std::size_t count : {10U, 2000U, 0U, 500U, 30U, 1200U}) {
      lists.fill(count, 0);
      entries.push_back(&queue.add({kKey, lists.reads, lists.writes}));
      if (round >= 10) {
        EXPECT_TRUE(places.contains(entries.back())) << "new memory in round " << round;
      }
      places.insert(entries.back());
    }
    for (const auto* entry : entries) queue.begin(*entry);
  }
}

}  // namespace
}  // namespace foreshard::executor
