// The queue between a recording thread and the writing one loses nothing and keeps the order.
#include "profiler/record/record_buffer.hpp"

#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace foreshard::profiler {
namespace {

TEST(RecordBuffer, HandsOverInOrder) {
  RecordBuffer<int, 4> buffer;
  std::vector<int> taken;
  const auto take = [&](std::span<const int> piece) {
    taken.insert(taken.end(), piece.begin(), piece.end());
  };
  buffer.drain(take);
  EXPECT_TRUE(taken.empty());
  int next = 0;
  // Pieces of every length up to several chunks, so that each boundary is met with the ring empty,
  // full and growing.
  std::vector<int> expected;
  for (int length = 0; length < 40; ++length) {
    for (int i = 0; i < length; ++i) {
      expected.push_back(next);
      buffer.push(next++);
    }
    if (length % 3 != 0) buffer.drain(take);
  }
  buffer.drain(take);
  EXPECT_EQ(taken, expected);
}

// Small chunks, so that the two meet at their boundaries all the time.
TEST(RecordBuffer, LosesNothingBetweenTwoThreads) {
  constexpr std::int64_t kRecords = 300'000;
  RecordBuffer<std::int64_t, 3> buffer;
  std::thread producer([&] {
    for (std::int64_t i = 0; i < kRecords; ++i) buffer.push(i);
  });
  std::int64_t expected = 0;
  while (expected < kRecords) {
    buffer.drain([&](std::span<const std::int64_t> piece) {
      for (const std::int64_t value : piece) ASSERT_EQ(value, expected++);
    });
    if (HasFatalFailure()) break;
  }
  producer.join();
}

}  // namespace
}  // namespace foreshard::profiler
