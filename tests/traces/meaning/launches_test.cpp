// Which call launched which work, and what reports and exports make of it.
#include "traces/meaning/launches.hpp"

#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "profiler/analysis/launches.hpp"
#include "traces/export/chrome_export.hpp"

namespace foreshard::traces {
namespace {

constexpr std::int32_t kHost = 0, kStream = 1, kOtherHost = 2, kOtherStream = 3;

Trace two_ranks() {
  Trace trace;
  for (const std::int32_t rank : {0, 1}) {
    trace.lanes.push_back({rank, false, trace.strings.intern("host")});
    trace.lanes.push_back({rank, true, trace.strings.intern("stream 7")});
  }
  return trace;
}

Event event(std::int32_t lane, EventKind kind, std::int64_t start, std::int64_t correlation,
            std::int32_t instruction = kNone) {
  Event e;
  e.lane = lane;
  e.kind = kind;
  e.start_ns = start;
  e.end_ns = start + 10;
  e.correlation = correlation;
  e.instruction = instruction;
  return e;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// A synchronous cudaMemcpy waits for the copy that it launches.
TEST(Launches, ACallThatWaitsForItsWorkHasLaunchedIt) {
  Trace trace = two_ranks();
  trace.events = {event(kHost, EventKind::host_wait, 0, 7),
                  event(kStream, EventKind::memory, 3, 7)};
  const Launches launches(trace);
  EXPECT_EQ(launches.of(0), Launches::kUnknown);
  EXPECT_EQ(launches.of(1), 0);
  const auto statistics = profiler::launch_statistics(trace, launches).at(0);
  EXPECT_EQ(statistics.launches, 1);
  EXPECT_EQ(statistics.unknown, 0);
  std::ostringstream chrome;
  write_chrome(trace, chrome);
  EXPECT_EQ(count(chrome.str(), "\"ph\":\"s\""), 1u);
}

TEST(Launches, AreJoinedWithinARankByTheFirstCall) {
  Trace trace = two_ranks();
  trace.events = {event(kHost, EventKind::runtime, 0, 7),
                  event(kHost, EventKind::runtime, 2, 7),  // the driver's, inside of it
                  event(kStream, EventKind::compute, 30, 7),
                  event(kStream, EventKind::wait, 50, 7),
                  event(kStream, EventKind::compute, 60, 8),
                  event(kOtherHost, EventKind::range, 0, 7),
                  event(kOtherStream, EventKind::compute, 30, 7)};
  const Launches launches(trace);
  EXPECT_EQ(launches.of(2), 0);
  EXPECT_EQ(launches.of(3), 0) << "what a stream waits for was issued too";
  EXPECT_EQ(launches.of(4), Launches::kUnknown);
  EXPECT_EQ(launches.of(6), Launches::kUnknown) << "a range launches nothing";
  std::ostringstream chrome;
  write_chrome(trace, chrome);
  EXPECT_EQ(count(chrome.str(), "\"ph\":\"s\""), 1u);
}

TEST(Launches, OfOurOwnAreJoinedByStepAndInstruction) {
  Trace trace = two_ranks();
  trace.events = {event(kHost, EventKind::host, 0, 0, 4), event(kHost, EventKind::host, 20, 0, 4),
                  event(kHost, EventKind::host_wait, 40, 0, 5),
                  event(kStream, EventKind::compute, 30, 0, 4),
                  event(kStream, EventKind::compute, 50, 0, 5)};
  for (const std::size_t n : {1u, 3u}) trace.events.update(n, [](Event& e) { e.step = 2; });
  const Launches launches(trace);
  EXPECT_EQ(launches.of(3), 1);
  EXPECT_EQ(launches.of(4), Launches::kUnknown) << "a wait of the program launches nothing";
}

// Long enough for stretches in which no event was launched.
TEST(Launches, OfManyEventsAreThoseOfASearchThroughAll) {
  Trace trace = two_ranks();
  std::mt19937 random(3);
  for (std::int64_t n = 0; n < 3000; ++n) {
    const bool is_work = n / 500 % 2 == 1;
    const auto kind = is_work ? EventKind::compute : EventKind::runtime;
    trace.events.push_back(
        event(is_work ? kStream : kHost, kind, n, static_cast<std::int64_t>(random() % 4000)));
  }
  const Launches launches(trace);
  for (std::size_t n = 0; n < trace.events.size(); ++n) {
    std::int32_t expected = Launches::kUnknown;
    const Event work = trace.events[n];
    for (std::size_t k = trace.events.size(); k-- > 0;) {
      const Event call = trace.events[k];
      const bool is_call = call.lane == kHost && call.correlation == work.correlation;
      if (work.lane == kStream && work.correlation != 0 && is_call) {
        expected = static_cast<std::int32_t>(k);
      }
    }
    ASSERT_EQ(launches.of(n), expected) << n;
  }
}

}  // namespace
}  // namespace foreshard::traces
