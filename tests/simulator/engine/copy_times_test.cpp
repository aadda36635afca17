// When the copies of a repetition repeat: the host takes `host` from one to the next, stream 0 `stream`.
#include "simulator/engine/copy_times.hpp"

#include <gtest/gtest.h>

namespace foreshard::simulator {
namespace {

struct Copies {
  CopyTimes before, now;
  HostCosts costs;

  // All but the host and stream 0, its communicator and an event stand at 0.
  Copies(std::int64_t host, std::int64_t ready, std::int64_t grows_host,
         std::int64_t grows_stream) {
    before.host = host;
    before.streams = {{ready, ready}, {}};
    before.communicators = before.events = {ready};
    now = before;
    now.host += grows_host;
    for (std::int64_t* time :
         {&now.streams[0].passed, &now.streams[0].ready, &now.communicators[0], &now.events[0]}) {
      *time += grows_stream;
    }
  }

  std::optional<CopyPeriod> period(bool host_decided = false) const {
    return copy_period(before, now, host_decided, costs);
  }
};

TEST(CopyTimes, RepeatWhereAllIsLaterByTheSameAmount) {
  const auto period = Copies(1'000, 3'000, 700, 700).period(true);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->host, 700);
  EXPECT_EQ(period->streams, 700);
}

TEST(CopyTimes, RepeatWhereTheHostIsFurtherAheadEachTimeUnlessItDecided) {
  const Copies copies(1'000, 3'000, 200, 700);
  const auto period = copies.period();
  ASSERT_TRUE(period);
  EXPECT_EQ(period->host, 200);
  EXPECT_EQ(period->streams, 700);
  EXPECT_FALSE(copies.period(true));
}

// The host catches up with the device by 100 each time: some copy will wait for it.
TEST(CopyTimes, DoNotRepeatWhereTheHostCatchesUp) {
  EXPECT_FALSE(Copies(1'000, 3'000, 700, 600).period());
}

TEST(CopyTimes, DoNotRepeatWhereOneTimeGrowsInAnotherWay) {
  Copies copies(1'000, 3'000, 700, 700);
  copies.now.events[0] += 1;
  EXPECT_FALSE(copies.period());
}

// What lies behind the host has no effect, whatever it does, where the host and the streams keep pace; a
// host that gets ahead leaves it behind only if it stands still.
TEST(CopyTimes, LeaveOutWhatLiesBehindTheHost) {
  Copies copies(1'000, 3'000, 700, 700);
  copies.before.streams[1].passed = 400;
  copies.now.streams[1].passed = 1'650;
  EXPECT_TRUE(copies.period());
  copies.now.streams[1].passed = 1'750;
  EXPECT_FALSE(copies.period());

  Copies ahead(1'000, 3'000, 200, 700);
  ahead.before.streams[1].passed = ahead.now.streams[1].passed = 400;
  EXPECT_TRUE(ahead.period());
  ahead.now.streams[1].passed = 900;
  EXPECT_FALSE(ahead.period());
}

// 300 behind the host an event still keeps a stream waiting for longer than a launch takes, where the one
// has a latency of 500 and the other of 100.
TEST(CopyTimes, CountLatenciesOfEvents) {
  Copies copies(1'000, 3'000, 700, 700);
  copies.before.events.push_back(700);
  copies.now.events.push_back(701);
  EXPECT_TRUE(copies.period());
  copies.costs.event_latency_ns = 500;
  copies.costs.launch_latency_ns = 100;
  EXPECT_FALSE(copies.period());
}

}  // namespace
}  // namespace foreshard::simulator
