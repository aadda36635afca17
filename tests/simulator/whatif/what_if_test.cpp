// Recordings drawn by hand, a question to each, and the arithmetic of the answer.
#include "simulator/whatif/what_if.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "tests/simulator/whatif/drawn_recording.hpp"

namespace foreshard::simulator {
namespace {

using traces::EventKind;
using Words = std::vector<std::string>;

WhatIfAnswer ask(const DrawnRecording& recording, const Words& scales, const Words& settings = {}) {
  const traces::Trace trace = recording.trace();
  const auto changes = parse_changes(scales, settings);
  EXPECT_TRUE(changes) << changes.error().text();
  const auto answer = what_if(trace, {*changes, {}}, "recording");
  EXPECT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->replayed.span_ns, answer->recorded.span_ns);
  EXPECT_EQ(answer->replayed.step_ns, answer->recorded.step_ns);
  EXPECT_TRUE(answer->asked) << answer->refusal;
  return *answer;
}

double span_us(const DrawnRecording& recording, const Words& scales, const Words& settings = {}) {
  return static_cast<double>(ask(recording, scales, settings).asked->span_ns) / 1000;
}

std::map<std::string, std::int64_t> path_of(const WhatIfAnswer& answer) {
  std::map<std::string, std::int64_t> path;
  for (const PathPart& part : answer.critical_path) path[part.name] += part.ns / 1000;
  return path;
}

// A host that launches a kernel of 10 us every 100 us, within 5 us.
DrawnRecording launch_bound() {
  DrawnRecording draw;
  const int host = draw.thread(), stream = draw.stream();
  for (int i = 0; i < 3; ++i) {
    const double at = 100 * i;
    draw.work(stream, at + 6, at + 16, draw.call(host, at, at + 5), "kernel");
  }
  return draw;
}

TEST(WhatIf, AHostThatLaunchesSlowlyDecides) {
  const DrawnRecording recording = launch_bound();
  EXPECT_EQ(span_us(recording, {}), 216);
  EXPECT_EQ(span_us(recording, {"kernel=0"}), 206);
  EXPECT_EQ(span_us(recording, {"kernel=2"}), 226);
  // Two calls of 5 us before the last one, and between them 95 us twice.
  EXPECT_EQ(span_us(recording, {}, {"launch=0"}), 206);
  EXPECT_EQ(span_us(recording, {}, {"host=0.5"}), 116);
  EXPECT_EQ(path_of(ask(recording, {})),
            (std::map<std::string, std::int64_t>{
                {"(host)", 190}, {"(launch)", 10}, {"(launch latency)", 6}, {"kernel", 10}}));
}

// Kernels of 1000 us, launched within 20 us, that follow one another by 1 us; then the host waits.
DrawnRecording device_bound() {
  DrawnRecording draw;
  const int host = draw.thread(), stream = draw.stream();
  for (int i = 0; i < 3; ++i) {
    const double at = 6 + 1001 * i;
    draw.work(stream, at, at + 1000, draw.call(host, 10 * i, 10 * i + 5), i == 1 ? "odd" : "even");
  }
  draw.call(host, 30, 3012, "cudaDeviceSynchronize");  // 4 us after the last
  draw.work(stream, 3026, 3036, draw.call(host, 3020, 3025), "tail");
  return draw;
}

TEST(WhatIf, AHostThatWaitsComesSoonerByWhatTheDeviceSaves) {
  const DrawnRecording recording = device_bound();
  EXPECT_EQ(span_us(recording, {"even=0.5"}), 3036 - 1000);
  EXPECT_EQ(span_us(recording, {"odd=2"}), 3036 + 1000);
  EXPECT_EQ(span_us(recording, {}, {"host=0"}), 3036 - 8) << "between the wait and the last launch";
  EXPECT_EQ(path_of(ask(recording, {})),
            (std::map<std::string, std::int64_t>{{"even", 2000},
                                                 {"odd", 1000},
                                                 {"(stream gap)", 2},
                                                 {"(wait)", 4},
                                                 {"(host)", 8},
                                                 {"tail", 10},
                                                 {"(launch latency)", 12}}));
}

TEST(WhatIf, AHostThatKeepsStepWithItsDeviceWaitsUnrecorded) {
  DrawnRecording draw;
  const int host = draw.thread(), stream = draw.stream();
  constexpr int kKernels = 12;
  for (int i = 0; i < kKernels; ++i) {
    const double at = 210 * i;
    draw.work(stream, at + 3, at + 203, draw.call(host, at, at + 2), "kernel");
  }
  EXPECT_EQ(span_us(draw, {"kernel=0.5"}), 210 * kKernels - 7 - 100 * kKernels);
  EXPECT_EQ(path_of(ask(draw, {}))["kernel"], 200 * kKernels);
}

TEST(WhatIf, AStreamWaitsForWhatHadJustEndedOnAnother) {
  DrawnRecording draw;
  const int host = draw.thread(), one = draw.stream(), other = draw.stream(0, "stream 20");
  draw.work(one, 6, 1006, draw.call(host, 0, 5), "first");
  draw.work(other, 1008, 1108, draw.call(host, 10, 15), "second");
  EXPECT_EQ(span_us(draw, {"first=0.5"}), 608);
  EXPECT_EQ(span_us(draw, {"first=0"}), 116) << "its launch allows no sooner";
  EXPECT_EQ(span_us(draw, {"first=3"}), 3108);
}

TEST(WhatIf, AStreamOfOurOwnRecordingsMayBeAThreadThatWakesUpLate) {
  DrawnRecording draw;
  const int host = draw.thread(), one = draw.stream(), other = draw.stream(0, "stream 20");
  draw.work(one, 6, 3006, draw.call(host, 0, 5), "first");
  draw.work(other, 3206, 3306, draw.call(host, 10, 15), "second");
  EXPECT_EQ(path_of(ask(draw, {})).at("(unexplained)"), 200) << "of a GPU: nothing had just ended";

  traces::Trace own = draw.trace();
  own.metadata.erase("source");
  own.events.update_all([](traces::Event& event) {
    if (event.kind == EventKind::runtime) event.kind = EventKind::host;
    event.instruction = static_cast<std::int32_t>(event.correlation);
    event.correlation = 0;
  });
  const auto answer = what_if(own, {*parse_changes({"first=0.5"}, {}), {}}, "");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->unmatched_events, 0);
  EXPECT_EQ(answer->asked->span_ns, 1'806'000);
  for (const PathPart& part : answer->critical_path) EXPECT_NE(part.name, "(unexplained)");
}

TEST(WhatIf, QueuedWorkFollowsItsStreamHoweverLongAgoItWasLaunched) {
  DrawnRecording draw;
  const int host = draw.thread(), stream = draw.stream();
  double at = 6;
  for (int i = 0; i < 20; ++i) {
    draw.work(stream, at, at + 1000, draw.call(host, 10 * i, 10 * i + 5), "kernel");
    at += 1000 + (i == 10 ? 50 : 1);  // once it stood still, of which nothing is recorded
  }
  EXPECT_EQ(span_us(draw, {}), 20074);
  EXPECT_EQ(span_us(draw, {"*=0.5"}), 10074);
  EXPECT_EQ(path_of(ask(draw, {})).at("(unexplained)"), 50);
}

TEST(WhatIf, WorkMayBeginShortlyBeforeWhatItWaitedForHasEnded) {
  DrawnRecording draw;
  const int host = draw.thread(), one = draw.stream(), other = draw.stream(0, "stream 20");
  draw.work(one, 6, 1006, draw.call(host, 0, 5), "first");
  draw.work(other, 1000, 1100, draw.call(host, 10, 15), "second");
  EXPECT_EQ(span_us(draw, {"first=0.5"}), 6 + 497 + 100);
}

TEST(WhatIf, WorkMayBeginWhereWorkOfAnotherStreamLeavesRoom) {
  DrawnRecording draw;
  const int host = draw.thread(), one = draw.stream(), other = draw.stream(0, "stream 20");
  draw.work(one, 6, 1006, draw.call(host, 0, 5), "first");
  draw.work(other, 606, 1206, draw.call(host, 10, 15), "second");
  EXPECT_EQ(span_us(draw, {"first=0.5"}), 6 + 300 + 600);
}

// 300 kernels of 100 us, launched 10 us apart until the queue takes no more than 200.
TEST(WhatIf, AFullQueueHoldsTheHostBack) {
  constexpr int kQueue = 200;
  DrawnRecording draw;
  const int host = draw.thread(), stream = draw.stream();
  double now = 0, free = 6;
  std::vector<double> starts;
  for (std::size_t i = 0; i < 300; ++i) {
    const double called = now + 5;
    now = called + 5;
    if (i >= kQueue) now = std::max(now, starts[i - kQueue] + 1);
    starts.push_back(std::max(free + 1, called + 6));
    free = starts.back() + 100;
    draw.work(stream, starts.back(), free, draw.call(host, called, now), "kernel");
  }
  draw.work(stream, now + 1e6 + 6, now + 1e6 + 7, draw.call(host, now + 1e6, now + 1e6 + 5),
            "late");
  EXPECT_NEAR(span_us(draw, {"kernel=0"}), 1e6 + 300 * 10, 20) << "no launch is held";
  EXPECT_NEAR(span_us(draw, {"kernel=2"}), 1e6 + 100 * 201, 300) << "the host waits twice as long";
}

TEST(WhatIf, WorkThatOverlapsInItsStreamMovesWithWhatTheOtherHadDone) {
  DrawnRecording draw;
  const int host = draw.thread(), stream = draw.stream();
  draw.work(stream, 6, 1006, draw.call(host, 0, 5), "long");
  draw.work(stream, 906, 1106, draw.call(host, 10, 15), "next");
  EXPECT_EQ(span_us(draw, {"long=2"}), 6 + 1800 + 200);
  EXPECT_EQ(span_us(draw, {"next=0"}), 1006);
}

// A graph of 300 kernels is one launch: its call takes long of its own, not for want of room.
TEST(WhatIf, AGraphDoesNotFillTheQueueOfItsStream) {
  DrawnRecording draw;
  const int host = draw.thread(), stream = draw.stream();
  double now = 0;
  for (int step = 0; step < 6; ++step) {
    const double called = now, returned = called + (step == 0 ? 1080 : 1100);
    const auto call = draw.call(host, called, returned, "cudaGraphLaunch");
    for (int k = 0; k < 300; ++k) {
      draw.work(stream, called + 6 + 11 * k, called + 16 + 11 * k, call, "kernel");
    }
    now = called + 6 + 11 * 300 + 5;
    draw.call(host, returned + 5, now, "cudaDeviceSynchronize");
  }
  EXPECT_GE(span_us(draw, {"kernel=0"}), 1080 + 5 * 1100);
}

TEST(WhatIf, ACopyCallReturnsWhenItsCopyIsOver) {
  DrawnRecording draw;
  const int host = draw.thread(), stream = draw.stream();
  draw.work(stream, 10, 510, draw.call(host, 0, 515, "cudaMemcpyAsync"), "Memcpy DtoH",
            EventKind::memory);
  draw.work(stream, 526, 536, draw.call(host, 520, 525), "kernel");
  EXPECT_EQ(span_us(draw, {"Memcpy*=0.5"}), 286);
}

TEST(WhatIf, ThreadsHandOverAndAWatchingOneDoesNot) {
  DrawnRecording draw;
  const int host = draw.thread(), autograd = draw.thread(0, "autograd"), stream = draw.stream();
  const int watch = draw.thread(0, "watchdog");
  draw.work(stream, 6, 16, draw.call(host, 0, 5), "forward");
  draw.work(stream, 106, 1106, draw.call(autograd, 100, 105), "backward");
  draw.call(watch, 600, 601, "cudaEventQuery");
  draw.call(autograd, 110, 1110, "cudaStreamSynchronize");
  draw.work(stream, 1126, 1136, draw.call(host, 1120, 1125), "optimizer");
  EXPECT_EQ(span_us(draw, {"backward=0.5"}), 636);
}

TEST(WhatIf, WorkWithoutALaunchFollowsItsStream) {
  DrawnRecording draw;
  const int host = draw.thread(), stream = draw.stream();
  draw.work(stream, 6, 1006, draw.call(host, 0, 5), "known");
  draw.work(stream, 1007, 1107, 0, "unknown");
  EXPECT_EQ(span_us(draw, {"known=0.5"}), 607);
  EXPECT_EQ(ask(draw, {}).unmatched_events, 1);
}

// Two ranks meet in a collective of 100 us; the second comes 400 us later.
DrawnRecording straggling() {
  DrawnRecording draw;
  for (int rank = 0; rank < 2; ++rank) {
    const int host = draw.thread(rank), stream = draw.stream(rank);
    draw.work(stream, 6, 106 + 400 * rank, draw.call(host, 0, 5), rank == 0 ? "fast" : "slow");
    draw.work(stream, 107 + 400 * rank, 607, draw.call(host, 10, 15), "ncclDevKernel_AllReduce",
              EventKind::communication);
    draw.work(stream, 608, 708, draw.call(host, 20, 25), "after");
    draw.step(rank, 1, 0, 30);
  }
  return draw;
}

TEST(WhatIf, ACollectiveBeginsWhenTheLastRankHasCome) {
  const DrawnRecording recording = straggling();
  EXPECT_EQ(span_us(recording, {}), 708);
  EXPECT_EQ(span_us(recording, {"slow=0.5"}), 458);
  EXPECT_EQ(span_us(recording, {"fast=4"}), 708) << "406 us, still the first";
  EXPECT_EQ(span_us(recording, {"fast=6"}), 808) << "606 us, now the last";
  EXPECT_EQ(span_us(recording, {}, {"collectives=0.5"}), 658) << "waiting is not communication";
  EXPECT_EQ(path_of(ask(recording, {})).at("ncclDevKernel_AllReduce"), 100);
  EXPECT_EQ(path_of(ask(recording, {})).count("fast"), 0U);
}

TEST(WhatIf, WithoutStragglersEachRankGoesOnAtOnce) {
  const auto answer = ask(straggling(), {}, {"stragglers=none"});
  EXPECT_EQ(answer.asked->span_ns, 708'000) << "of the slow rank, which waits for none";
  const auto fast = std::find_if(answer.slack.begin(), answer.slack.end(),
                                 [](const Slack& slack) { return slack.name == "fast"; });
  ASSERT_NE(fast, answer.slack.end());
  EXPECT_EQ(fast->ns, 400'000);
}

TEST(WhatIf, AStepIsTheHosts) {
  DrawnRecording draw;
  const int host = draw.thread(), stream = draw.stream();
  draw.work(stream, 6, 1006, draw.call(host, 0, 5), "kernel");
  draw.call(host, 10, 1010, "cudaDeviceSynchronize");
  draw.step(0, 1, -20, 1030);  // before the first call and after the last
  EXPECT_EQ(ask(draw, {}).asked->step_ns, 1'050'000);
  EXPECT_EQ(ask(draw, {"kernel=0.5"}).asked->step_ns, 550'000);
  EXPECT_EQ(ask(draw, {}, {"host=0"}).asked->step_ns, 1'010'000);
  EXPECT_EQ(ask(launch_bound(), {}).asked->step_ns, std::nullopt) << "none is marked";
}

TEST(WhatIf, SlackIsTheLeastOfTheWorkOfAName) {
  DrawnRecording draw;
  const int host = draw.thread(), one = draw.stream(), other = draw.stream(0, "stream 20");
  draw.work(one, 6, 1006, draw.call(host, 0, 5), "long");
  draw.work(other, 16, 116, draw.call(host, 10, 15), "short");
  draw.work(other, 126, 326, draw.call(host, 120, 125), "short");
  const auto answer = ask(draw, {});
  ASSERT_EQ(answer.slack.size(), 2U);
  EXPECT_EQ(answer.slack[0].name, "long");
  EXPECT_EQ(answer.slack[0].ns, 0);
  EXPECT_EQ(answer.slack[1].name, "short");
  EXPECT_EQ(answer.slack[1].ns, 680'000);
}

TEST(WhatIf, NothingCanBeAskedWhereNoDeviceWorks) {
  DrawnRecording draw;
  draw.call(draw.thread(), 0, 5);
  draw.stream();
  const auto answer = what_if(draw.trace(), {}, "recording.fst");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().file, "recording.fst");
}

TEST(WhatIf, NothingCanBeAskedOfAReplayThatIsOff) {
  EXPECT_EQ(refusal({100, 1000}, {102, 1020}, 0), "");
  EXPECT_NE(refusal({100, 1000}, {100, 1021}, 0).find("span"), std::string::npos);
  EXPECT_NE(refusal({100, 1000}, {97, 1000}, 0).find("step"), std::string::npos);
  EXPECT_NE(refusal({100, 1000}, {std::nullopt, 1000}, 0), "");
  EXPECT_EQ(refusal({std::nullopt, 1000}, {std::nullopt, 1000}, 0), "");
  EXPECT_EQ(refusal({100, 1000}, {100, 1000}, 100), "");
  EXPECT_NE(refusal({100, 1000}, {100, 1000}, 101).find("10.1 % of its span"), std::string::npos);
}

}  // namespace
}  // namespace foreshard::simulator
