// Links between the events of a recording of two ranks.
#include "gui/models/timeline/event_links.hpp"

#include <algorithm>
#include <memory>

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

TEST(EventLinks, WhatFollowsBeganLater) {
  const LaneSet lanes(tests::random_events(1, 200, 5));
  const auto& events = lanes.trace().events;
  for (std::size_t n = 0; n < events.size(); ++n) {
    if (!lanes.trace().lanes[static_cast<std::size_t>(events[n].lane)].device) continue;
    const EventLinks links = links_of(lanes, static_cast<EventIndex>(n));
    std::int64_t begun = -1;
    for (std::size_t k = 0; k < events.size(); ++k) {
      if (k == n || !traces::is_device_work(events[k].kind)) continue;
      if (events[k].start_ns >= events[n].end_ns && (begun < 0 || events[k].start_ns < begun)) {
        begun = events[k].start_ns;
      }
    }
    EXPECT_EQ(links.then ? event_at(lanes, *links.then).start_ns : -1, begun);
    if (links.waited_for) {
      EXPECT_LE(event_at(lanes, *links.waited_for).start_ns, events[n].start_ns);
    }
  }
}

// A host launches three kernels at once; the third is on a stream of its own and waits for the second.
TEST(EventLinks, AnEventWaitedForItsStreamForAnotherOrForNothingButItsLaunch) {
  traces::Trace trace;
  trace.metadata["source"] = "kineto";
  const auto lane = [&](bool device, const char* name) {
    trace.lanes.push_back({0, device, trace.strings.intern(name)});
    return static_cast<std::int32_t>(trace.lanes.size()) - 1;
  };
  const std::int32_t host = lane(false, "python"), one = lane(true, "stream 7");
  const std::int32_t two = lane(true, "stream 20");
  const auto add = [&](std::int32_t on, traces::EventKind kind, std::int64_t start_us,
                       std::int64_t end_us, std::int64_t correlation) {
    traces::Event event;
    event.lane = on;
    event.kind = kind;
    event.start_ns = start_us * 1000;
    event.end_ns = end_us * 1000;
    event.correlation = correlation;
    trace.events.push_back(event);
    return static_cast<EventIndex>(trace.events.size()) - 1;
  };
  using Kind = traces::EventKind;
  const EventIndex call = add(host, Kind::runtime, 0, 5, 1);
  add(host, Kind::runtime, 10, 15, 2);
  add(host, Kind::runtime, 20, 25, 3);
  const EventIndex first = add(one, Kind::compute, 6, 1006, 1);
  const EventIndex second = add(one, Kind::compute, 1007, 2007, 2);
  const EventIndex third = add(two, Kind::compute, 2001, 2500, 3);  // it may begin a little early
  const LaneSet lanes(std::make_shared<const traces::Trace>(std::move(trace)));
  EXPECT_EQ(links_of(lanes, first).waited_for, std::nullopt);
  EXPECT_EQ(links_of(lanes, first).launched_by, call);
  EXPECT_EQ(links_of(lanes, second).waited_for, first);
  EXPECT_EQ(links_of(lanes, third).waited_for, second);
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
