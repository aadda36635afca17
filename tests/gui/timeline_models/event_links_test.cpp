// Links between the events of a recording of two ranks.
#include "gui/models/timeline/event_links.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "gui/models/timeline/card.hpp"
#include "gui/models/timeline/device_limits.hpp"
#include "tests/gui/timeline_models/random_events.hpp"
#include "tests/gui/timeline_models/recorded_run.hpp"

namespace foreshard::gui {
namespace {

const traces::Event& event_at(const LaneSet& lanes, EventIndex event) {
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

TEST(EventLinks, TwinsHoldTheEventAndAreInOrder) {
  const LaneSet lanes(tests::random_events(1, 200, 6));
  for (EventIndex event = 0; event < 600; event += 7) {
    const std::vector<EventIndex> twins = twins_of(lanes, event);
    EXPECT_TRUE(std::is_sorted(twins.begin(), twins.end()));
    EXPECT_TRUE(std::binary_search(twins.begin(), twins.end(), event));
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

TEST(Card, OfEveryEventHasItsNameItsDurationAndItsKey) {
  const auto trace = tests::recorded_run();
  ASSERT_NE(trace, nullptr);
  const LaneSet lanes(trace);
  for (std::size_t n = 0; n < trace->events.size(); n += 3) {
    const Card card = card_of(lanes, static_cast<EventIndex>(n), true);
    EXPECT_EQ(card.name.toStdString(), trace->strings[trace->events[n].name]);
    EXPECT_FALSE(card.duration.isEmpty());
    EXPECT_TRUE(card.text().contains(card.name));
    for (const CardLink& link : card.links) EXPECT_NE(link.event, static_cast<EventIndex>(n));
  }
}

TEST(Card, HiddenAndExposedOfACollectiveAddUpToItsDuration) {
  const LaneSet lanes(tests::random_events(1, 100, 8));
  const traces::Trace& trace = lanes.trace();
  for (std::size_t n = 0; n < trace.events.size(); ++n) {
    const traces::Event& event = trace.events[n];
    if (event.kind != traces::EventKind::communication || event.end_ns - event.start_ns < 1000) {
      continue;
    }
    std::vector<traces::Interval> kernels;
    for (const traces::Event& other : trace.events) {
      if (other.kind != traces::EventKind::compute) continue;
      const traces::Interval both{std::max(other.start_ns, event.start_ns),
                                  std::min(other.end_ns, event.end_ns)};
      if (both.start_ns < both.end_ns) kernels.push_back(both);
    }
    const bool is_exposed = traces::length(traces::united(kernels)) < event.end_ns - event.start_ns;
    const Card card = card_of(lanes, static_cast<EventIndex>(n), false);
    const bool says_so =
        std::any_of(card.facts.begin(), card.facts.end(),
                    [](const CardFact& fact) { return fact.label == QStringLiteral("Exposed"); });
    EXPECT_EQ(says_so, is_exposed);
  }
}

QString fact(const Card& card, const char* label) {
  for (const CardFact& one : card.facts) {
    if (one.label == QLatin1String(label)) return one.value;
  }
  return {};
}

TEST(Card, RatesAreRelativeToWhatTheDeviceCanDo) {
  traces::Trace trace = *tests::random_events(1, 3, 8);
  traces::Event product;
  product.lane = 1;
  product.kind = traces::EventKind::compute;
  product.cost_key = trace.strings.intern("matmul bf16 4096 4096 4096 0");  // 137.4 GFLOP
  product.end_ns = 300'000;
  traces::Event sum = product;
  sum.cost_key = trace.strings.intern("add bf16 1048576");
  sum.end_ns = 100;
  trace.events = {product, sum};
  trace.metadata["data_sheet"] = load_machine("h100-sxm")->name;
  const LaneSet lanes(std::make_shared<const traces::Trace>(trace));
  const Card arithmetic = card_of(lanes, 0, false);
  EXPECT_EQ(fact(arithmetic, "FLOPs"), QStringLiteral("137.4 GFLOP"));
  EXPECT_EQ(fact(arithmetic, "Achieved"), QStringLiteral("458.1 TFLOP/s, 46 % of peak"));
  EXPECT_EQ(fact(arithmetic, "Bound by"), QStringLiteral("arithmetic"));
  const Card moves = card_of(lanes, 1, false);
  EXPECT_EQ(fact(moves, "Bound by"), QStringLiteral("memory"));
  EXPECT_TRUE(fact(moves, "Memory rate").endsWith(QStringLiteral("above the data sheet's")))
      << qPrintable(fact(moves, "Memory rate"));

  trace.metadata["device.0"] = "Some device";  // that the catalogue lacks
  const LaneSet unknown(std::make_shared<const traces::Trace>(trace));
  EXPECT_EQ(fact(card_of(unknown, 0, false), "Achieved"), QStringLiteral("458.1 TFLOP/s"));
}

TEST(Card, SaysWhereAPredictedTimeComesFromAndHowSureItIs) {
  traces::Trace trace = *tests::random_events(1, 3, 8);
  ASSERT_GE(trace.events.size(), 3u);
  for (traces::Event& event : trace.events) {
    event.end_ns = event.start_ns + 1000;
    event.cost_source = CostSource::none;
  }
  trace.events[1].cost_source = CostSource::fitted;
  trace.events[1].cost_error = 0.1F;  // 1.65 of it: 16.5 %
  trace.events[2].cost_source = CostSource::modelled;
  const LaneSet lanes(std::make_shared<const traces::Trace>(std::move(trace)));
  EXPECT_TRUE(card_of(lanes, 0, false).cost.isEmpty());
  const Card fitted = card_of(lanes, 1, false);
  EXPECT_EQ(fitted.cost_source, QStringLiteral("fitted"));
  ASSERT_TRUE(fitted.band);
  EXPECT_EQ(fitted.band->start_ns, 835);
  EXPECT_EQ(fitted.band->end_ns, 1165);
  EXPECT_TRUE(fitted.text().contains(QStringLiteral("90 %: 835 ns – 1.165 us")))
      << qPrintable(fitted.text());
  const Card modelled = card_of(lanes, 2, false);
  EXPECT_EQ(modelled.cost_source, QStringLiteral("modelled"));
  EXPECT_FALSE(modelled.band);
}

}  // namespace
}  // namespace foreshard::gui
