// The strip's figures of a recording and of a prediction's metadata.
#include "gui/models/timeline/step_figures.hpp"

#include <gtest/gtest.h>

#include "tests/traces/sample_trace.hpp"

namespace foreshard::gui {
namespace {

TEST(StepFigures, AreThoseOfTheLastSteadyStep) {
  traces::Trace trace = traces::sample_trace();
  trace.metadata["step_time_low_ns"] = "700";
  trace.metadata["step_time_high_ns"] = "1100";
  trace.metadata["mfu"] = "0.41";
  trace.metadata["device_memory_bytes"] = "4096";
  const profiler::Analysis analysis = profiler::analyse(trace);
  const StepFigures figures = step_figures(trace, analysis);
  EXPECT_EQ(figures.step, 3);
  EXPECT_EQ(figures.step_ns, analysis.step_time_ns);
  EXPECT_EQ(figures.band, (traces::Interval{700, 1100}));
  EXPECT_DOUBLE_EQ(figures.mfu, 0.41);
  EXPECT_EQ(figures.capacity, 4096);
  std::int64_t peak = 0;
  for (const auto& rank : analysis.ranks) peak = std::max(peak, rank.peak.allocated_bytes);
  EXPECT_EQ(figures.peak_allocated, peak);
}

TEST(StepFigures, WithoutStepsTellTheSpanAndHowBusyItIs) {
  traces::Trace trace = traces::sample_trace();
  trace.steps.clear();
  const profiler::Analysis analysis = profiler::analyse(trace);
  const StepFigures figures = step_figures(trace, analysis);
  EXPECT_EQ(figures.step_ns, 0);
  std::int64_t span = 0;
  for (const auto& rank : analysis.ranks) span = std::max(span, rank.time.span_ns);
  ASSERT_GT(span, 0);
  EXPECT_EQ(figures.span_ns, span);
  EXPECT_GT(figures.busy_ns, 0);
  EXPECT_LE(figures.busy_ns, span);
}

TEST(StepFigures, LackCommunicationThatSeveralRanksMustHaveHad) {
  traces::Trace trace = traces::sample_trace();
  const auto lack = [&](const char* ranks) {
    trace.metadata["ranks"] = ranks;
    return step_figures(trace, profiler::analyse(trace)).lacks_communication;
  };
  EXPECT_FALSE(lack("8"));
  trace.events.update_all([](traces::Event& event) {
    if (event.kind == traces::EventKind::communication) event.kind = traces::EventKind::compute;
  });
  EXPECT_TRUE(lack("8"));
  EXPECT_FALSE(lack("1"));
}

TEST(StepFigures, KnowWhetherADeviceWasRecorded) {
  traces::Trace trace = traces::sample_trace();
  EXPECT_TRUE(step_figures(trace, profiler::analyse(trace)).has_device);
  traces::EventList calls;
  for (const traces::Event& event : trace.events) {
    if (!traces::is_device_work(event.kind)) calls.push_back(event);
  }
  trace.events = std::move(calls);
  EXPECT_FALSE(step_figures(trace, profiler::analyse(trace)).has_device);
}

TEST(StepFigures, OfAnEmptyTraceAreUnknown) {
  const traces::Trace trace;
  const StepFigures figures = step_figures(trace, profiler::analyse(trace));
  EXPECT_EQ(figures.step_ns, 0);
  EXPECT_EQ(figures.tokens_per_s, 0);
  EXPECT_FALSE(figures.peak_ns.has_value());
}

}  // namespace
}  // namespace foreshard::gui
