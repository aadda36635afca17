// Links between the events of a recording of two ranks.
#include "gui/models/timeline/event_links.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/gui/timeline_models/random_events.hpp"
#include "tests/gui/timeline_models/recorded_run.hpp"

namespace foreshard::gui {
namespace {

traces::Event event_at(const LaneSet& lanes, EventIndex event) {
  return lanes.trace().events[static_cast<std::size_t>(event)];
}

TEST(EventLinks, CollectivesAreJoinedAcrossRanksBothWays) {
  const auto trace = tests::recorded_run();
  ASSERT_NE(trace, nullptr);
  const LaneSet lanes(trace);
  int joined = 0;
  for (std::size_t n = 0; n < trace->events.size(); ++n) {
    const auto event = static_cast<EventIndex>(n);
    if (event_at(lanes, event).kind != traces::EventKind::communication) continue;
    for (const EventIndex partner : links_of(lanes, event).partners) {
      ++joined;
      EXPECT_EQ(event_at(lanes, partner).name, event_at(lanes, event).name);
      const auto back = links_of(lanes, partner).partners;
      EXPECT_NE(std::find(back.begin(), back.end(), event), back.end());
    }
  }
  EXPECT_GT(joined, 0);
}

TEST(EventLinks, WhatAnEventWaitedForWasOverAndWhatFollowsBeganLater) {
  const LaneSet lanes(tests::random_events(1, 200, 5));
  const auto& events = lanes.trace().events;
  for (std::size_t n = 0; n < events.size(); ++n) {
    if (!lanes.trace().lanes[static_cast<std::size_t>(events[n].lane)].device) continue;
    const EventLinks links = links_of(lanes, static_cast<EventIndex>(n));
    // Nothing that was over ended later, and nothing that follows began sooner.
    std::int64_t over = -1, begun = -1;
    for (std::size_t k = 0; k < events.size(); ++k) {
      if (k == n || !traces::is_device_work(events[k].kind)) continue;
      if (events[k].start_ns >= events[n].end_ns && (begun < 0 || events[k].start_ns < begun)) {
        begun = events[k].start_ns;
      }
      if (events[k].end_ns <= events[n].start_ns) over = std::max(over, events[k].end_ns);
    }
    EXPECT_EQ(links.waited_for ? event_at(lanes, *links.waited_for).end_ns : -1, over);
    EXPECT_EQ(links.then ? event_at(lanes, *links.then).start_ns : -1, begun);
  }
}

TEST(EventLinks, TwinsAreTheEventsOfItsOperatorInItsLaneAndStep) {
  const LaneSet lanes(tests::random_events(1, 200, 6));
  for (EventIndex event = 0; event < 600; event += 7) {
    std::vector<EventIndex> expected;
    const traces::Event& its = event_at(lanes, event);
    for (EventIndex n = 0; n < static_cast<EventIndex>(lanes.trace().events.size()); ++n) {
      const traces::Event& other = event_at(lanes, n);
      const bool is_twin = other.lane == its.lane && other.step == its.step &&
                           other.name == its.name && other.kind == its.kind;
      if (is_twin) expected.push_back(n);
    }
    EXPECT_EQ(twins_of(lanes, event), expected);
  }
}

// Another trace of the same run numbers its strings and lanes otherwise.
TEST(EventLinks, TheSameInAnotherTraceHasTheSameKeyOrNumber) {
  const auto trace = tests::random_events(2, 200, 8);
  traces::Trace other = *trace;
  other.strings = {};
  other.strings.intern("first of all");
  const auto renumber = [&](traces::StringId& id) {
    id = other.strings.intern(trace->strings[id]);
  };
  for (traces::Lane& lane : other.lanes) renumber(lane.name);
  other.events.update_all([&](traces::Event& event) {
    for (traces::StringId* id :
         {&event.name, &event.phase, &event.unit, &event.stable_key, &event.cost_key}) {
      renumber(*id);
    }
  });
  const LaneSet ours(trace);
  const LaneSet theirs(std::make_shared<const traces::Trace>(std::move(other)));
  for (EventIndex event = 0; event < static_cast<EventIndex>(trace->events.size()); event += 3) {
    const auto found = same_in_trace(ours, event, theirs);
    ASSERT_TRUE(found);
    const traces::Event &its = event_at(ours, event), &match = event_at(theirs, *found);
    EXPECT_EQ(theirs.trace().strings[match.stable_key], trace->strings[its.stable_key]);
    EXPECT_EQ(match.step, its.step);
    EXPECT_EQ(match.lane, its.lane);
    if (its.stable_key == 0) {
      EXPECT_EQ(*found, event);
    }
  }
}

TEST(EventLinks, TheSameInTheNextStepAndBackIsTheEvent) {
  const LaneSet lanes(tests::random_events(2, 200, 7));
  int followed = 0;
  for (EventIndex event = 0; event < 1200; ++event) {
    if (const auto next = same_in_step(lanes, event, 1)) {
      ++followed;
      EXPECT_EQ(same_in_step(lanes, *next, -1), event);
    }
    if (const auto other = same_in_rank(lanes, event, 1)) {
      EXPECT_EQ(same_in_rank(lanes, *other, -1), event);
    }
  }
  EXPECT_GT(followed, 0);
}

}  // namespace
}  // namespace foreshard::gui
