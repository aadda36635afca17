// A GPU that does what the catalogue says of an H100, and a host that draws weights slowly: what a
// calibration within a given time learns of it.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "models/hardware/hardware.hpp"
#include "models/sharding/cuda_device.hpp"
#include "simulator/calibrate/calibrate.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/simulator/known_machine.hpp"

namespace foreshard::simulator {
namespace {

class FakeGpu {
 public:
  Prediction truth(const Job& job, std::int64_t steps) const {
    return law ? predicted_on(*law, job, steps) : predicted(job, steps);
  }

  CalibratedMachine asked() {
    return {[this](const Job& job, std::int64_t steps) { return record(job, steps); },
            [this] { return now_; }};
  }

  const Machine& part() const { return part_; }
  std::optional<CostTable> law;  // instead of the catalogue's
  double launch_factor = 1;      // how many times as long launches take that are recorded
  std::vector<Job> recorded;
  std::optional<std::size_t> failing;  // the run that ends with an error

 private:
  Result<std::optional<traces::Trace>> record(const Job& job, std::int64_t steps) {
    constexpr double kSetUpNs = 6e8, kDrawNs = 6;  // for each parameter
    recorded.push_back(job);
    now_ +=
        Nanoseconds(std::llround(kSetUpNs + kDrawNs * static_cast<double>(job.model.parameters())));
    if (failing == recorded.size() - 1) return fail("", "", "out of paper");
    CostTable recording = law.value_or(CostTable{});
    for (ThreadCountCosts& regime : recording.regimes) {
      std::int64_t& ns = regime.host.issue_ns[static_cast<std::size_t>(Kind::launch)];
      ns = std::llround(launch_factor * static_cast<double>(ns));
    }
    const Prediction run = law ? predicted_on(recording, job, steps) : truth(job, steps);
    traces::Trace trace = to_trace(job, run, "made up");
    const auto share = 1 - static_cast<double>(truth(job, steps).step_time.count()) /
                               static_cast<double>(run.step_time.count());
    trace.metadata["recorder_overhead_fraction"] = std::to_string(share);
    trace.metadata["predicted"] = "0";
    trace.metadata["device.0"] = "NVIDIA H100 80GB HBM3";
    std::int64_t end = 0;
    for (const traces::Step& step : trace.steps) end = std::max(end, step.end_ns);
    now_ += Nanoseconds(end);
    return trace;
  }

  Prediction predicted(const Job& job, std::int64_t steps) const {
    PredictionOptions options;
    options.steps = steps;
    options.machine = &part_;
    options.keeps_memory_records = true;
    return predict(job, options);
  }

  const Machine part_ = *load_machine("h100-sxm");
  Nanoseconds now_{1'000'000};
};

CalibrationOptions within(double seconds, const FakeGpu& gpu) {
  CalibrationOptions options;
  options.limits.device = *cuda_device(gpu.part());
  options.time = Nanoseconds(std::llround(seconds * 1e9));
  return options;
}

struct Known {
  const char* model;
  std::int64_t layers, micro_batch, sequence;
  bool is_checkpointed = false;
};
const std::vector<Known> kKnown{{"llama-small-14m", 6, 4, 512},      {"llama-110m", 12, 4, 1024},
                                {"llama-3.2-1b", 16, 1, 512},        {"llama-3.2-1b", 16, 2, 2048},
                                {"llama-3.2-1b", 16, 2, 2048, true}, {"llama-3.1-8b", 4, 1, 4096}};

double mean_error(const FakeGpu& gpu, const CostTable& costs, double most) {
  double sum = 0;
  for (const Known& known : kKnown) {
    auto model = *load_llama_config(known.model);
    model.layers = known.layers;
    Plan plan;
    plan.batch.micro_batch = known.micro_batch;
    plan.batch.sequence = known.sequence;
    plan.precision.reduce = DType::bf16;
    if (known.is_checkpointed) plan.checkpointing.mode = CheckpointMode::full;
    const auto job = make_job(model, plan, "test", 1, 0, nullptr, *cuda_device(gpu.part()));
    PredictionOptions options;
    options.steps = 3;
    options.costs = &costs;
    const auto found = static_cast<double>(predict(*job, options).step_time.count());
    const auto truth = static_cast<double>(gpu.truth(*job, 3).step_time.count());
    const double error = std::abs(found / truth - 1);
    EXPECT_LT(error, most) << known.model << " " << found / 1e6 << " of " << truth / 1e6;
    sum += error;
  }
  return sum / static_cast<double>(kKnown.size());
}

TEST(GpuCalibration, ReachesModelsOfRealSizeInTime) {
  FakeGpu gpu;
  const auto asked = gpu.asked();
  const Nanoseconds start = asked.now();
  const auto found = calibrate(asked, within(150, gpu));
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_LT(asked.now() - start, Nanoseconds(160'000'000'000));
  EXPECT_GT(gpu.recorded.size(), 12U);
  EXPECT_LT(mean_error(gpu, found->table, 0.08), 0.03);
}

TEST(GpuCalibration, PredictsABillionParametersWhereItEndsEarly) {
  FakeGpu gpu;
  const auto found = calibrate(gpu.asked(), within(30, gpu));
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_LT(mean_error(gpu, found->table, 0.15), 0.06);
}

// Predictions are of runs without a recording, which waits for longer launches: CUPTI may take more of a
// small model's step than the step itself.
TEST(GpuCalibration, LeavesOutWhatRecordingAddsToLaunches) {
  FakeGpu gpu;
  gpu.law = calibrate(gpu.asked(), within(150, gpu))->table;
  for (const double factor : {2.5, 6.0}) {
    gpu.launch_factor = factor;
    const auto found = calibrate(gpu.asked(), within(150, gpu));
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_LT(mean_error(gpu, found->table, 0.08), 0.03) << factor;
  }
}

TEST(GpuCalibration, GoesOnAfterARunThatFails) {
  FakeGpu gpu;
  gpu.failing = 1;
  const auto found = calibrate(gpu.asked(), within(60, gpu));
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_GT(gpu.recorded.size(), 4U);
  EXPECT_TRUE(std::ranges::any_of(found->warnings, [](const std::string& warning) {
    return warning.find("out of paper") != std::string::npos;
  }));
}

}  // namespace
}  // namespace foreshard::simulator
