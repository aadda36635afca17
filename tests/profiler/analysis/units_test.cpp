// FSDP units in a step that was drawn by hand: three units one after another, of which the first waits for
// its gather as every first one does, the second's comes in time and the third's 30 us late.
#include "profiler/analysis/units.hpp"

#include <gtest/gtest.h>

#include "profiler/analysis/analysis.hpp"
#include "profiler/report/analysis_report.hpp"
#include "tests/profiler/analysis/hand_made_trace.hpp"

namespace foreshard::profiler {
namespace {

using traces::Event;
using traces::EventKind;

HandMadeTrace three_units() {
  constexpr std::int64_t us = 1'000;
  HandMadeTrace t;
  t.step(0, 1, 0, 500 * us);
  const auto add = [&](int stream, EventKind kind, std::int64_t start, std::int64_t end,
                       const std::string& unit, const std::string& name) {
    t.event(0, stream, kind, start * us, end * us, 1, name + " " + unit);
  };
  add(1, EventKind::communication, 0, 50, "layers.0", "ncclDevKernel_AllGather");
  add(0, EventKind::compute, 50, 150, "layers.0", "gemm");
  add(1, EventKind::communication, 60, 110, "layers.1", "ncclDevKernel_AllGather");
  add(0, EventKind::compute, 150, 250, "layers.1", "gemm");
  add(1, EventKind::communication, 230, 280, "head", "ncclDevKernel_AllGather");
  add(0, EventKind::compute, 285, 385, "head", "gemm");
  add(1, EventKind::communication, 385, 455, "head", "ncclDevKernel_ReduceScatter");
  add(0, EventKind::compute, 390, 500, "layers.1", "gemm");
  t.trace.events.update_all([&](Event& event) {
    const std::string& name = t.trace.strings[event.name];
    event.unit = t.trace.strings.intern(name.substr(name.find(' ') + 1));
  });
  return t;
}

TEST(StepUnits, AreGatheredComputedAndReduced) {
  const StepUnits step = analyse(three_units().trace).units;
  ASSERT_EQ(step.units.size(), 3U);
  EXPECT_EQ(step.units[0].unit, "layers.0");
  EXPECT_EQ(step.units[0].gather_ns, 50'000);
  EXPECT_EQ(step.units[0].compute_ns, 100'000);
  EXPECT_EQ(step.units[1].unit, "layers.1");
  EXPECT_EQ(step.units[1].compute_ns, 210'000);
  EXPECT_EQ(step.units[2].unit, "head");
  EXPECT_EQ(step.units[2].reduce_ns, 70'000);
}

TEST(StepUnits, NameTheFirstThatComesLate) {
  const StepUnits step = analyse(three_units().trace).units;
  EXPECT_EQ(step.first_late, "head");
  EXPECT_EQ(step.units[0].late_ns, 0) << "nothing can be done before the first";
  EXPECT_EQ(step.units[1].late_ns, 0);
  EXPECT_EQ(step.units[2].late_ns, 30'000);  // from 250 to 280
}

TEST(StepUnits, AreATableInWhichLayersAreOneRow) {
  const std::string text = report_text(analyse(three_units().trace));
  EXPECT_NE(text.find("FSDP units of a step, first late: head"), std::string::npos) << text;
  EXPECT_NE(text.find("layers.0 to 1\n"), std::string::npos) << text;
  const auto has_row = [&](const std::string& figures) {
    std::string words;
    for (const char c : text) {
      if (c != ' ' || words.empty() || words.back() != ' ') words += c;
    }
    return words.find(figures) != std::string::npos;
  };
  EXPECT_TRUE(has_row("0.100 0.310 0.000 0.000 layers.0 to 1")) << text;
  EXPECT_TRUE(has_row("0.050 0.100 0.070 0.030 head")) << text;
}

}  // namespace
}  // namespace foreshard::profiler
