// Training runs of our own on an H100 (traces/samples/foreshard_gpu), against what is predicted of them without one.
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "models/sharding/cuda_device.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/simulator/predict/h100.hpp"

namespace foreshard::simulator {
namespace {

const std::string kFolder = FORESHARD_SOURCE_DIR "/traces/samples/foreshard_gpu/";

std::vector<nlohmann::json> gpu_runs() {
  std::vector<nlohmann::json> runs;
  std::ifstream file(kFolder + "h100/runs.jsonl");
  for (std::string line; std::getline(file, line);) runs.push_back(nlohmann::json::parse(line));
  return runs;
}

class GpuRuns : public testing::TestWithParam<nlohmann::json> {
 protected:
  Prediction predicted() const {
    const nlohmann::json& run = GetParam();
    const std::string name = run["model"];
    const auto model =
        load_llama_config(name == "8b-4-blocks" ? kFolder + "8b-4-blocks.json" : name);
    EXPECT_TRUE(model) << model.error().text();
    const auto plan = parse_plan(run["plan"].get<std::string>(), name);
    EXPECT_TRUE(plan) << plan.error().text();
    DeviceTraits gpu = *cuda_device(h100());
    if (run["attention"] == "plain")
      gpu = cuda_device(gpu.compute_capability, gpu.multiprocessors, false);
    const auto job = make_job(*model, *plan, name, run["ranks"].get<int>(), 1, nullptr, gpu);
    EXPECT_TRUE(job) << job.error().text();
    PredictionOptions options;
    options.machine = &h100();
    options.steps = run["steps"].get<int>();
    return predict(*job, options);
  }
};

TEST_P(GpuRuns, TakeThePredictedMemoryToTheByte) {
  const Prediction prediction = predicted();
  const auto& measured = GetParam()["peaks"];
  ASSERT_EQ(prediction.steps_memory.size(), measured.size());
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const StepPeaks& step = prediction.steps_memory[i];
    EXPECT_EQ(step.rank, measured[i]["rank"]);
    EXPECT_EQ(step.step, measured[i]["step"]);
    EXPECT_EQ(step.peaks.allocated, measured[i]["peak_allocated_bytes"]);
    EXPECT_EQ(step.peaks.reserved, measured[i]["peak_reserved_bytes"]);
  }
}

// Not of those that the host bounds, which was that of a virtual machine, nor of ranks that shared the GPU.
std::vector<nlohmann::json> runs_bound_by_the_device() {
  std::vector<nlohmann::json> runs = gpu_runs();
  std::erase_if(runs, [](const nlohmann::json& run) {
    return run["attention"] != "cuDNN" || run["steps"] <= 3 || run["ranks"] != 1 ||
           run["step_time_ns"] < 20'000'000;
  });
  return runs;
}

class GpuSteps : public GpuRuns {};

TEST_P(GpuSteps, TakeATimeWithinTheBand) {
  const Prediction prediction = predicted();
  const Nanoseconds measured(GetParam()["step_time_ns"].get<std::int64_t>());
  EXPECT_LE(prediction.step_time_low, measured);
  EXPECT_GE(prediction.step_time_high, measured);
}

std::string name_of(const testing::TestParamInfo<nlohmann::json>& run) {
  std::string name = run.param["name"];
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(H100, GpuRuns, testing::ValuesIn(gpu_runs()), name_of);
INSTANTIATE_TEST_SUITE_P(H100, GpuSteps, testing::ValuesIn(runs_bound_by_the_device()), name_of);

}  // namespace
}  // namespace foreshard::simulator
