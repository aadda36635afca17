// What a step computes, of a step of 100 us that was drawn by hand.
#include "profiler/analysis/step_work.hpp"

#include <gtest/gtest.h>

#include "models/hardware/device_names.hpp"
#include "models/program/operators.hpp"
#include "profiler/analysis/analysis.hpp"
#include "tests/profiler/analysis/hand_made_trace.hpp"

namespace foreshard::profiler {
namespace {

using traces::Event;
using traces::EventKind;

constexpr const char* kRecordedGpu = "NVIDIA H100 80GB HBM3";

// An embedding of 4096 tokens, two products of 2 * 1000^3 operations, of which the first is two kernels (it
// splits its sum), and a kernel without a shape: 8, 30 + 20, 30 and 10 us.
HandMadeTrace step_of_products(DType type, const std::string& kernel) {
  constexpr std::int64_t us = 1'000;
  HandMadeTrace t;
  t.trace.metadata["source"] = "kineto";
  t.trace.metadata["device.0"] = kRecordedGpu;
  t.step(0, 1, 0, 50 * us)
      .event(0, -1, EventKind::host, 0, 3 * us, 1, "aten::embedding")
      .launch(0, 0, EventKind::compute, 1 * us, 2 * us, 10 * us, "gather")
      .event(0, -1, EventKind::host, 4 * us, 10 * us, 1, "aten::mm")
      .launch(0, 0, EventKind::compute, 5 * us, 10 * us, 40 * us, kernel)
      .launch(0, 0, EventKind::compute, 7 * us, 40 * us, 60 * us, kernel)
      .event(0, -1, EventKind::host, 12 * us, 16 * us, 1, "aten::mm")
      .launch(0, 0, EventKind::compute, 13 * us, 60 * us, 90 * us, kernel)
      .launch(0, 0, EventKind::compute, 17 * us, 90 * us, 100 * us, "elementwise");
  const auto key = [&](const CostKey& of) { return t.trace.strings.intern(text(of)); };
  const traces::StringId product = key({Operator::matmul, type, type, type, {1000, 1000, 1000}}),
                         lookup = key({Operator::embedding, type, type, type, {4096, 32000, 64}});
  t.trace.events.update_all([&](Event& event) {
    const std::string& name = t.trace.strings[event.name];
    if (name == "aten::mm" || name == kernel) event.cost_key = product;
    if (name == "aten::embedding" || name == "gather") event.cost_key = lookup;
  });
  return t;
}

StepWork work_of(const HandMadeTrace& t) {
  const Analysis analysis = analyse(t.trace);
  EXPECT_TRUE(analysis.steady_step && analysis.steady_step->work);
  return analysis.steady_step->work.value_or(StepWork());
}

TEST(StepWork, CountsAnOperatorOnce) {
  const StepWork work = work_of(step_of_products(DType::bf16, "gemm"));
  EXPECT_DOUBLE_EQ(work.flops, 4e9);
  EXPECT_DOUBLE_EQ(work.mfu.value(),
                   4e9 / (machine_reported_as(kRecordedGpu)->bf16_flops * 100e-6));
  EXPECT_DOUBLE_EQ(work.known_share, 88.0 / 98.0);
  EXPECT_DOUBLE_EQ(work.tokens.value(), 4096);
}

TEST(StepWork, IsAgainstTheRateOfTheType) {
  const double fp32 = work_of(step_of_products(DType::fp32, "gemm")).mfu.value(),
               tf32 = work_of(step_of_products(DType::fp32, "gemm_f32f32_tf32f32_f32")).mfu.value();
  EXPECT_DOUBLE_EQ(fp32, 4e9 / (machine_reported_as(kRecordedGpu)->fp32_flops * 100e-6));
  EXPECT_DOUBLE_EQ(tf32, 4e9 / (machine_reported_as(kRecordedGpu)->tf32_flops * 100e-6));
}

TEST(StepWork, IsNotKnownWithoutShapesOrTheGpu) {
  HandMadeTrace t = step_of_products(DType::bf16, "gemm");
  t.trace.metadata["device.0"] = "Some other GPU";
  EXPECT_FALSE(work_of(t).mfu);
  t.trace.events.update_all([](Event& event) { event.cost_key = 0; });
  EXPECT_FALSE(analyse(t.trace).steady_step->work);
}

}  // namespace
}  // namespace foreshard::profiler
