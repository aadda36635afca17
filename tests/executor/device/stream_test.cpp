// Order, events, clocks and failures of CPU streams.
#include "executor/device/stream.hpp"

#include <mutex>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>
#include <pthread.h>

#include "executor/device/futex.hpp"

namespace foreshard::executor {
namespace {

TEST(Stream, RunsTasksInOrder) {
  RunControl run(1);
  StreamWorker stream(run, 0, "compute");
  std::vector<int> order;
  for (int i = 0; i < 5000; ++i) {
    stream.submit(static_cast<Tag>(i), [&order, i] { order.push_back(i); });
  }
  stream.synchronize();
  ASSERT_EQ(order.size(), 5000U);
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(run.progress(0).retired, 5000U);
  EXPECT_EQ(run.progress(0).last_instruction, 4999U);
}

TEST(Stream, FinishesWhatWasSubmittedBeforeItEnds) {
  RunControl run(1);
  int done = 0;
  {
    StreamWorker stream(run, 0, "compute");
    for (int i = 0; i < 1000; ++i) stream.submit(0, [&done] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

TEST(Stream, UnusedStreamIsIdle) {
  RunControl run(1);
  StreamWorker stream(run, 0, "compute");
  stream.synchronize();
}

TEST(Stream, SubmittingOneByOneLosesNoWakeUp) {
  RunControl run(1);
  StreamWorker stream(run, 0, "compute");
  Event event;
  int done = 0;
  for (Epoch i = 1; i <= 20000; ++i) {
    stream.submit(0, [&done] { ++done; });
    stream.record(event, i);
    event.wait(run, i);
    ASSERT_EQ(done, static_cast<int>(i));
  }
}

TEST(Stream, PingPongBetweenStreams) {
  RunControl run(1);
  StreamWorker one(run, 0, "one"), other(run, 0, "other");
  Event there, back;
  long value = 0;
  for (Epoch i = 1; i <= 5000; ++i) {
    one.wait(back, i - 1);
    one.submit(0, [&value] { ++value; });
    one.record(there, i);
    other.wait(there, i);
    other.submit(0, [&value] { value *= -1; });
    other.record(back, i);
  }
  one.synchronize();
  other.synchronize();
  EXPECT_EQ(value, 0);
}

TEST(Stream, WaitOfFiredEventCostsNoTask) {
  RunControl run(1);
  StreamWorker stream(run, 0, "compute");
  Event event;
  event.fire(2);
  stream.wait(event, 1, 7);
  stream.wait(event, 2, 7);
  stream.synchronize();
  EXPECT_EQ(run.progress(0).retired, 0U);
}

TEST(Stream, RandomGraphsKeepTheirOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    RunControl run(1);
    constexpr int kStreamsUsed = 4, kTasks = 300;
    std::vector<std::unique_ptr<StreamWorker>> streams;
    for (int i = 0; i < kStreamsUsed; ++i) {
      streams.push_back(std::make_unique<StreamWorker>(run, 0, "s" + std::to_string(i)));
    }
    std::vector<Event> events(kTasks);
    std::vector<std::atomic<bool>> done(kTasks);
    std::atomic<int> too_early{0};
    for (int task = 0; task < kTasks; ++task) {
      auto& stream = *streams[random() % kStreamsUsed];
      if (task > 0) {
        const auto before = static_cast<std::size_t>(random() % static_cast<unsigned>(task));
        stream.wait(events[before], 1);
        stream.submit(0, [&done, &too_early, before] {
          if (!done[before]) ++too_early;
        });
      }
      const auto at = static_cast<std::size_t>(task);
      stream.submit(0, [&done, at] { done[at] = true; });
      stream.record(events[at], 1);
    }
    for (auto& stream : streams) stream->synchronize();
    EXPECT_EQ(too_early, 0);
    for (const auto& flag : done) EXPECT_TRUE(flag);
  }
}

class Observer : public TaskObserver {
 public:
  void task_begins() override { seen.push_back("begins"); }
  void task_is_ready() override { seen.push_back("is ready"); }
  void task_finished(Tag tag) override { seen.push_back("finished " + std::to_string(tag)); }
  std::vector<std::string> seen;
};

TEST(Stream, TellsOfTaggedTasks) {
  RunControl run(1);
  StreamWorker stream(run, 0, "compute");
  Observer observer;
  stream.set_observer(&observer);
  Event event;
  stream.submit(1, [&observer] { observer.seen.push_back("works"); });
  stream.submit(2, [] { mark_ready(); });
  stream.record(event, 1);
  stream.submit(unreported(3), [] { mark_ready(); });
  stream.synchronize();
  stream.set_observer(nullptr);
  stream.submit(4, [] { mark_ready(); });
  stream.synchronize();
  EXPECT_EQ(observer.seen, (std::vector<std::string>{"begins", "works", "finished 1", "begins",
                                                     "is ready", "finished 2"}));
}

// Processor time is read again after a sleep alone.
TEST(Stream, ThreadsKnowWhetherTheyHaveSlept) {
  RunControl run(1);
  StreamWorker one(run, 0, "one"), other(run, 0, "other");
  Event event;
  bool waited = false, slept = false;
  one.submit(0, [] { this_thread_has_slept = false; });
  one.wait(event, 1);
  one.submit(0, [&waited] { waited = std::exchange(this_thread_has_slept, false); });
  one.submit(0, [&run, &slept] {
    run.sleep_for(Nanoseconds{1});
    slept = this_thread_has_slept;
  });
  run.sleep_for(Nanoseconds{20'000'000});
  other.record(event, 1);
  one.synchronize();
  EXPECT_TRUE(waited);
  EXPECT_TRUE(slept);
}

TEST(Stream, FailedTaskIsThrownToTheHost) {
  RunControl run(3);
  StreamWorker stream(run, 2, "compute");
  bool ran_on = false;
  stream.submit(0, [] { throw std::domain_error("kernel failed"); });
  try {
    stream.submit(0, [&ran_on] { ran_on = true; });
    stream.synchronize();
    FAIL();
  } catch (const std::domain_error& error) {
    EXPECT_STREQ(error.what(), "kernel failed");
  }
  EXPECT_THROW(stream.submit(0, [] {}), std::domain_error);
  EXPECT_FALSE(ran_on);
  ASSERT_TRUE(run.failure());
  EXPECT_EQ(run.failure()->rank, 2);
  EXPECT_EQ(run.failure()->message, "kernel failed");
}

TEST(Stream, ThreadsAreNamedAfterTheirRank) {
  RunControl run(13);
  StreamWorker stream(run, 12, "reduce_scatter");
  std::array<char, 16> name{};
  stream.submit(0, [&name] { pthread_getname_np(pthread_self(), name.data(), name.size()); });
  stream.synchronize();
  EXPECT_STREQ(name.data(), "r12 reduce_scat");
}

TEST(Stream, KnowsHowFarItHasFinished) {
  RunControl run(1);
  StreamWorker stream(run, 0, "compute");
  Event first, second;
  EXPECT_TRUE(stream.has_finished(100));
  std::atomic<int> done{0};
  const auto finish = [&done] {
    done.fetch_add(1);
    done.notify_all();
  };
  stream.wait(first, 1, unreported(4));
  stream.submit(5, finish);
  stream.wait(second, 1, unreported(8));
  stream.submit(9, finish);
  EXPECT_FALSE(stream.has_finished(4));
  first.fire(1);
  done.wait(0);
  while (!stream.has_finished(7)) std::this_thread::yield();  // until the wait of 8 has begun
  EXPECT_FALSE(stream.has_finished(8));
  second.fire(1);
  stream.synchronize();
  while (!stream.has_finished(9)) std::this_thread::yield();
  EXPECT_EQ(done, 2);
}

TEST(Stream, AbortEndsStreamsThatWait) {
  RunControl run(1);
  Event never;
  bool ran_on = false;
  {
    StreamWorker stream(run, 0, "compute"), idle(run, 0, "idle");
    idle.submit(0, [] {});
    stream.wait(never, 1);
    stream.submit(0, [&ran_on] { ran_on = true; });
    run.fail(0, "elsewhere");
    EXPECT_THROW(never.wait(run, 1), Aborted);
    EXPECT_THROW(stream.synchronize(), Aborted);
    EXPECT_THROW(idle.submit(0, [] {}), Aborted);
  }
  EXPECT_FALSE(ran_on);
}

}  // namespace
}  // namespace foreshard::executor
