// What must hold of every replay, on programs drawn at random and on the samples: unchanged it is the
// recording, less work never takes longer, and what is asked comes near to what the program does.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "simulator/whatif/what_if.hpp"
#include "tests/simulator/whatif/drawn_program.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::int64_t kRoundingNs = 1000;  // of every piece of work on a path

using Words = std::vector<std::string>;

WhatIfAnswer answer_of(const traces::Trace& trace, const Words& scales,
                       const Words& settings = {}) {
  return *what_if(trace, {*parse_changes(scales, settings), {}}, "");
}

std::int64_t span_of(const traces::Trace& trace, const Words& scales, const Words& settings = {}) {
  return answer_of(trace, scales, settings).asked->span_ns;
}

void expect_laws(const traces::Trace& trace) {
  const WhatIfAnswer as_it_was = answer_of(trace, {});
  const std::int64_t span = as_it_was.recorded.span_ns;
  EXPECT_EQ(as_it_was.replayed.span_ns, span);
  EXPECT_EQ(as_it_was.replayed.step_ns, as_it_was.recorded.step_ns);
  EXPECT_EQ(as_it_was.asked->span_ns, span);
  EXPECT_EQ(as_it_was.asked->step_ns, as_it_was.recorded.step_ns);
  std::int64_t sum = 0;
  for (const PathPart& part : as_it_was.critical_path) sum += part.ns;
  EXPECT_EQ(sum, span);

  EXPECT_LE(span_of(trace, {"*=0.5"}), span);
  EXPECT_LE(span_of(trace, {"*=0"}), span_of(trace, {"*=0.5"}));
  EXPECT_GE(span_of(trace, {"*=2"}), span);
  EXPECT_LE(span_of(trace, {"*=2"}), 2 * span);
  for (const char* what : {"collectives", "launch", "host"}) {
    const std::string name = what;
    EXPECT_EQ(span_of(trace, {}, {name + "=1"}), span);
    const std::int64_t half = span_of(trace, {}, {name + "=0.5"});
    EXPECT_LE(half, span) << what;
    EXPECT_LE(span_of(trace, {}, {name + "=0"}), half) << what;
  }
  EXPECT_LE(span_of(trace, {}, {"stragglers=none"}), span);

  // Work on the critical path gains at most its share, and what is not on it gains nothing.
  for (const Slack& work : as_it_was.slack) {
    if (work.name.find_first_of("*?[") != std::string::npos) continue;
    std::int64_t on_path = 0;
    for (const PathPart& part : as_it_was.critical_path) {
      if (part.name == work.name) on_path += part.ns;
    }
    const std::int64_t half = span_of(trace, {work.name + "=0.5"});
    EXPECT_LE(half, span) << work.name;
    EXPECT_GE(half, span - on_path / 2 - kRoundingNs) << work.name;
    EXPECT_GE(span_of(trace, {work.name + "=1.5"}), span + on_path / 2 - kRoundingNs) << work.name;
  }
}

RC_GTEST_PROP(WhatIfLaws, HoldOfDrawnPrograms, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  const traces::Trace trace =
      run_program(draw_program(seed, 120), std::vector<double>(kDrawnNames, 1));
  expect_laws(trace);
  RC_ASSERT(!testing::Test::HasFailure());
}

TEST(WhatIfLaws, HoldOfTheSamples) {
  for (const char* sample : {"drawn_gpu", "drawn_gpu.sqlite", "foreshard_gpu/h100/14m.fst.gz"}) {
    const auto trace =
        traces::read_trace(std::string(FORESHARD_SOURCE_DIR "/traces/samples/") + sample);
    ASSERT_TRUE(trace) << trace.error().text();
    SCOPED_TRACE(sample);
    expect_laws(*trace);
  }
}

// Its kernels take two fifths of the step, and the host launches each too late for that to matter.
TEST(WhatIf, OfARecordingThatTheHostBoundsIsTheHostsBound) {
  const auto trace =
      traces::read_trace(FORESHARD_SOURCE_DIR "/traces/samples/foreshard_gpu/h100/14m.fst.gz");
  ASSERT_TRUE(trace) << trace.error().text();
  const auto span = static_cast<double>(span_of(*trace, {}));
  EXPECT_GT(static_cast<double>(span_of(*trace, {"*=0"})), 0.98 * span);
}

// The programs themselves are the twin: run again with the times that are asked about.
TEST(WhatIf, ComesNearToWhatTheProgramWouldHaveDone) {
  double worst = 0, sum = 0;
  int questions = 0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const DrawnProgram program = draw_program(seed, 300);
    const traces::Trace recorded = run_program(program, {1, 1, 1, 1});
    for (const double factor : {0.25, 0.5, 2.0}) {
      for (const bool all : {false, true}) {
        std::vector<double> factors(kDrawnNames, all ? factor : 1.0);
        factors[0] = factor;
        const traces::Trace truth = run_program(program, factors);
        const auto expected = static_cast<double>(answer_of(truth, {}).recorded.span_ns);
        const std::string scale = (all ? "*=" : "work 0=") + std::to_string(factor);
        const double error =
            std::abs(static_cast<double>(span_of(recorded, {scale})) / expected - 1);
        worst = std::max(worst, error);
        sum += error;
        ++questions;
      }
    }
  }
  // Waits of streams that kept nothing waiting are not in a recording.
  EXPECT_LT(sum / questions, 0.01);
  EXPECT_LT(worst, 0.15);
}

}  // namespace
}  // namespace foreshard::simulator
