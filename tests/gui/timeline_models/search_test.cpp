// Queries beside a look at every event, and the way through the hits.
#include "gui/models/timeline/search.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "tests/gui/timeline_models/random_events.hpp"

namespace foreshard::gui {
namespace {

using Matches = std::function<bool(const traces::Trace&, const traces::Event&)>;

Hits found(const traces::Trace& trace, const char* text) {
  const std::atomic<bool> is_cancelled = false;
  return Hits(trace, parse_query(QString::fromLatin1(text)), is_cancelled);
}

TEST(Search, FindsWhatAWalkOverAllEventsFinds) {
  const auto trace = tests::random_events(2, 200, 9);
  const auto rank_of = [](const traces::Trace& t, const traces::Event& e) {
    return t.lanes[static_cast<std::size_t>(e.lane)].rank;
  };
  const std::vector<std::pair<const char*, Matches>> queries{
      {"matmul", [](const auto& t, const auto& e) { return t.strings[e.name] == "matmul"; }},
      {"GATHER",
       [](const auto& t, const auto& e) {
         return t.strings[e.name].find("gather") != std::string::npos;
       }},
      {"rank:1", [&](const auto& t, const auto& e) { return rank_of(t, e) == 1; }},
      {"unit:layers.3 phase:backward",
       [](const auto& t, const auto& e) {
         return t.strings[e.unit] == "model.layers.3" && t.strings[e.phase] == "backward";
       }},
      {"lane:host dur>1us",
       [](const auto& t, const auto& e) {
         return t.strings[t.lanes[static_cast<std::size_t>(e.lane)].name] == "host" &&
                e.end_ns - e.start_ns > 1000;
       }},
      {"dur<100ns", [](const auto&, const auto& e) { return e.end_ns - e.start_ns < 100; }},
      {"cost:modelled",
       [](const auto&, const auto& e) { return e.cost_source == CostSource::modelled; }},
      {"cost:m rank:1",
       [&](const auto& t, const auto& e) {
         return rank_of(t, e) == 1 &&
                (e.cost_source == CostSource::modelled || e.cost_source == CostSource::measured);
       }},
      {"no_such_name", [](const auto&, const auto&) { return false; }},
  };
  for (const auto& [text, matches] : queries) {
    const Hits hits = found(*trace, text);
    std::size_t expected = 0;
    for (std::size_t n = 0; n < trace->events.size(); ++n) {
      const bool is_hit = matches(*trace, trace->events[n]);
      expected += is_hit;
      EXPECT_EQ(hits.contains(static_cast<EventIndex>(n)), is_hit) << text;
    }
    EXPECT_EQ(hits.events().size(), expected) << text;
    std::size_t in_bins = 0;
    for (const DurationBin& bin : hits.durations(*trace, 20)) in_bins += bin.events;
    EXPECT_EQ(in_bins, expected) << text;
  }
}

TEST(Search, GoesThroughAllHitsInTheOrderOfTimeAndAround) {
  const auto trace = tests::random_events(1, 50, 10);
  const Hits hits = found(*trace, "matmul");
  ASSERT_GT(hits.events().size(), 1u);
  std::optional<EventIndex> at;
  for (const EventIndex event : hits.events()) EXPECT_EQ(at = hits.next(*trace, at, 1), event);
  EXPECT_EQ(hits.next(*trace, at, 1), hits.events().front());
  EXPECT_EQ(hits.next(*trace, hits.events().front(), -1), hits.events().back());
}

TEST(Search, GoesOnFromAnEventThatIsNoHitToTheNextInTime) {
  const auto trace = tests::random_events(1, 50, 11);
  const Hits hits = found(*trace, "matmul");
  ASSERT_FALSE(hits.events().empty());
  const auto begin = [&](EventIndex event) {
    return std::pair(trace->events[static_cast<std::size_t>(event)].start_ns, event);
  };
  for (EventIndex from = 0; from < static_cast<EventIndex>(trace->events.size()); ++from) {
    EventIndex after = hits.events().front(), before = hits.events().back();
    for (const EventIndex hit : hits.events()) {
      if (begin(hit) < begin(from)) before = hit;
    }
    for (const EventIndex hit : hits.events()) {
      if (begin(hit) > begin(from)) {
        after = hit;
        break;
      }
    }
    EXPECT_EQ(hits.next(*trace, from, 1), after);
    EXPECT_EQ(hits.next(*trace, from, -1), before);
  }
}

TEST(Search, TellsWhatCannotBeRead) {
  for (const char* text :
       {"dur>fast", "bytes<1mb2", "rank:x", "dur>", "cost:guessed", "dur>900000000000000s"}) {
    const SearchQuery query = parse_query(QString::fromLatin1(text));
    EXPECT_FALSE(query.error.isEmpty()) << text;
  }
  EXPECT_TRUE(parse_query(QStringLiteral("  ")).is_empty());
}

}  // namespace
}  // namespace foreshard::gui
