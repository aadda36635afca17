// Entries of many sizes stay until they have been taken, in memory that is used again.
#include "executor/device/entry_queue.hpp"

#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

namespace foreshard::executor {
namespace {

// Some exceed a chunk.
std::vector<std::size_t> drawn_sizes(std::size_t count) {
  std::mt19937 random(1);
  std::vector<std::size_t> sizes(count);
  for (std::size_t& bytes : sizes) bytes = random() % 50 == 7 ? 50'000 : random() % 400;
  return sizes;
}

std::byte filling(std::size_t entry) {
  return static_cast<std::byte>(entry % 251);
}

bool holds(const std::byte* at, std::size_t bytes, std::size_t entry) {
  return std::all_of(at, at + bytes, [entry](std::byte b) { return b == filling(entry); });
}

TEST(EntryQueue, KeepsEntriesInOrder) {
  EntryQueue queue;
  const auto sizes = drawn_sizes(2000);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::byte* const at = queue.add(sizes[i]);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 8, 0U);
    std::memset(at, static_cast<int>(filling(i)), sizes[i]);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_TRUE(holds(queue.next(), sizes[i], i)) << i;
  }
}

// Also while others are added.
TEST(EntryQueue, IsForTwoThreads) {
  EntryQueue queue;
  const auto sizes = drawn_sizes(20'000);
  std::atomic<std::size_t> added{0};
  std::size_t wrong = 0;
  std::thread taker([&] {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      while (added.load(std::memory_order_acquire) <= i) std::this_thread::yield();
      if (!holds(queue.next(), sizes[i], i)) ++wrong;
    }
  });
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::memset(queue.add(sizes[i]), static_cast<int>(filling(i)), sizes[i]);
    added.store(i + 1, std::memory_order_release);
  }
  taker.join();
  EXPECT_EQ(wrong, 0U);
}

TEST(EntryQueue, UsesItsMemoryAgain) {
  EntryQueue queue;
  std::set<const void*> places;
  for (int round = 0; round < 500; ++round) {
    for (const std::size_t bytes : {160U, 32'000U, 0U, 8'000U, 480U, 19'200U}) {
      const std::byte* const at = queue.add(bytes);
      if (round >= 250) {
        EXPECT_TRUE(places.contains(at)) << "new memory in round " << round;
      }
      places.insert(at);
    }
    for (int i = 0; i < 6; ++i) queue.next();
  }
}

}  // namespace
}  // namespace foreshard::executor
