// Processor time between readings of it: what is carried forward, and when it is read.
#include "profiler/record/thread_clock.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace foreshard::profiler {
namespace {

constexpr std::int64_t kForEver = INT64_MAX / 2;

TEST(ThreadClock, IsReadOnceWhereTheThreadDoesNotSleep) {
  ThreadClock clock(kForEver);
  const auto first = clock.begin(true);
  auto last = first;
  for (int i = 0; i < 1000; ++i) {
    const auto begun = clock.begin(false), ended = clock.end(false);
    EXPECT_LE(last.ns, begun.ns);
    EXPECT_EQ(cpu_between(begun, ended), ended.ns - begun.ns);
    last = ended;
  }
  EXPECT_EQ(last.cpu_ns - first.cpu_ns, last.ns - first.ns);
  EXPECT_EQ(clock.readings(), 1);
}

TEST(ThreadClock, IsReadAfterEachSleep) {
  ThreadClock clock(kForEver);
  const auto begun = clock.begin(true);
  ::usleep(20'000);
  const auto ended = clock.end(true);
  EXPECT_EQ(clock.readings(), 2);
  EXPECT_GE(ended.ns - begun.ns, 20'000'000);
  EXPECT_LT(cpu_between(begun, ended), ended.ns - begun.ns);
}

TEST(ThreadClock, IsReadWhenItsTimeIsOver) {
  ThreadClock clock(0);
  const std::int64_t before = thread_time_now();
  for (int i = 0; i < 100; ++i) clock.end((clock.begin(false), false));
  const auto ended = clock.end(false);
  EXPECT_EQ(clock.readings(), 201);
  EXPECT_GE(ended.cpu_ns, before);
  EXPECT_LE(ended.cpu_ns, thread_time_now());
}

TEST(ThreadClock, WorkUsesNoMoreThanItTookAndNoLessThanNothing) {
  EXPECT_EQ(cpu_between({100, 50}, {140, 70}), 20);
  EXPECT_EQ(cpu_between({100, 50}, {140, 95}), 40);
  EXPECT_EQ(cpu_between({100, 50}, {140, 45}), 0);
}

}  // namespace
}  // namespace foreshard::profiler
