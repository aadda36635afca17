// Ranks arrive at collectives at different times; who waited for whom must not decide what they cost.
#include "simulator/fit/meetings.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace foreshard::simulator {
namespace {

using traces::Event;

// A recording of ranks with one stream each, of collectives over groups of `size`.
struct FakeRanks {
  explicit FakeRanks(int ranks) {
    for (int r = 0; r < ranks; ++r) trace.lanes.push_back({r, true, 0});
  }

  void add(int rank, std::int64_t start, std::int64_t end, std::int32_t instruction = -1) {
    Event event;
    event.lane = rank;
    event.kind = traces::EventKind::communication;
    event.start_ns = start;
    event.end_ns = end;
    event.cost_key = 1;
    event.instruction = instruction;
    events.push_back(event);
  }

  std::vector<Meeting> meetings(std::int64_t size, std::int64_t ranks = 1) const {
    return meetings_of(trace, events, ranks, 0, [=](const Event&) { return size; });
  }

  traces::Trace trace;
  std::vector<Event> events;
};

std::int64_t shortest(const Meeting& meeting) {
  std::int64_t least = INT64_MAX;
  for (const Event* event : meeting.members) {
    least = std::min(least, event->end_ns - event->start_ns);
  }
  return least;
}

TEST(Meetings, JoinOccurrencesOfOneCollective) {
  FakeRanks run(3);
  for (int rank = 0; rank < 3; ++rank) {
    run.add(rank, 1000 * rank, 5000);
    run.add(rank, 10'000 + 500 * rank, 20'000);
  }
  const auto meetings = run.meetings(3);
  ASSERT_EQ(meetings.size(), 2U);
  EXPECT_TRUE(meetings[0].is_complete);
  EXPECT_EQ(shortest(meetings[0]), 3000);
  EXPECT_EQ(shortest(meetings[1]), 9000);
}

TEST(Meetings, GroupsOfOneInstructionStayApart) {
  // Ranks 0 and 1 meet, ranks 2 and 3 meet; then every second rank does.
  FakeRanks run(4);
  const std::int64_t ends[] = {5000, 5000, 9000, 9000};
  for (int rank = 0; rank < 4; ++rank) run.add(rank, 1000 + 700 * (rank % 2), ends[rank], 7);
  for (int rank = 0; rank < 4; ++rank) {
    run.add(rank, 20'000 + 100 * rank, rank % 2 == 0 ? 25'000 : 29'000, 8);
  }
  const auto meetings = run.meetings(2);
  ASSERT_EQ(meetings.size(), 4U);
  for (const Meeting& meeting : meetings) {
    ASSERT_EQ(meeting.members.size(), 2U);
    EXPECT_EQ(meeting.members[0]->end_ns, meeting.members[1]->end_ns);
  }
}

TEST(Meetings, WhoDidNotRunTogetherDidNotMeet) {
  FakeRanks run(2);
  run.add(0, 0, 1000);
  run.add(1, 2000, 3000);
  const auto meetings = run.meetings(2);
  ASSERT_EQ(meetings.size(), 2U);
  EXPECT_FALSE(meetings[0].is_complete);
}

TEST(Meetings, WithRanksMissingNobodyKnowsWhoMet) {
  FakeRanks run(2);
  for (const int rank : {0, 1}) run.add(rank, 0, 1000);
  EXPECT_TRUE(run.meetings(2)[0].is_complete);
  EXPECT_FALSE(run.meetings(2, 4)[0].is_complete) << "each may have met one of the other two";
  EXPECT_TRUE(run.meetings(1, 4)[0].is_complete);
}

TEST(Meetings, OfSomeRanksAreNotComplete) {
  FakeRanks run(1);
  run.add(0, 0, 1000);
  const auto meetings = run.meetings(64);
  ASSERT_EQ(meetings.size(), 1U);
  EXPECT_FALSE(meetings[0].is_complete);
}

}  // namespace
}  // namespace foreshard::simulator
