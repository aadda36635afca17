// Peaks that PyTorch's allocator reported in each step of a plan, against those of its prediction.
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include <gtest/gtest.h>

#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(FORESHARD_SOURCE_DIR) / "tests/golden/pytorch_flows";

struct RecordedPlan {
  std::string name, model, machine;  // "": an H100
  int ranks = 1, rank = 0;
  std::int64_t device_memory = 0;  // 0: no limit
  std::map<std::int64_t, MemoryPeaks> steps;
};

void PrintTo(const RecordedPlan& plan, std::ostream* out) {
  *out << plan.name;
}

std::vector<RecordedPlan> recorded_plans() {
  std::vector<RecordedPlan> found;
  std::ifstream file(kFolder / "peaks.csv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream row(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    if (found.empty() || found.back().name != cells[0]) {
      found.push_back({cells[0],
                       cells[1],
                       cells.size() > 9 ? cells[9] : "",
                       std::stoi(cells[2]),
                       std::stoi(cells[3]),
                       std::stoll(cells[4]),
                       {}});
    }
    MemoryPeaks& peaks = found.back().steps[std::stoll(cells[5])];
    peaks.active = std::stoll(cells[6]);
    peaks.allocated = std::stoll(cells[7]);
    peaks.reserved = std::stoll(cells[8]);
  }
  return found;
}

class RecordedPeaks : public testing::TestWithParam<RecordedPlan> {};

TEST_P(RecordedPeaks, AreThoseOfThePrediction) {
  const RecordedPlan& recorded = GetParam();
  const auto model = load_llama_config((kFolder / "configs" / (recorded.model + ".json")).string());
  ASSERT_TRUE(model) << model.error().text();
  const auto plan = load_plan((kFolder / "plans" / (recorded.name + ".toml")).string());
  ASSERT_TRUE(plan) << plan.error().text();
  std::optional<Machine> machine;
  if (!recorded.machine.empty()) machine = *load_machine(recorded.machine);
  const auto job =
      make_job(*model, *plan, recorded.name, recorded.ranks, 0, machine ? &*machine : nullptr);
  ASSERT_TRUE(job) << job.error().text();
  PredictionOptions options;
  if (machine) options.machine = &*machine;
  options.steps = recorded.steps.rbegin()->first;
  options.wants_time = options.wants_outside = false;
  if (recorded.device_memory > 0) options.device_memory = recorded.device_memory;
  const Prediction prediction = predict(*job, options);
  std::size_t compared = 0;
  for (const StepPeaks& step : prediction.steps_memory) {
    const auto expected = recorded.steps.find(step.step);
    if (step.rank != recorded.rank || expected == recorded.steps.end()) continue;
    EXPECT_EQ(step.peaks, expected->second) << "step " << step.step;
    ++compared;
  }
  EXPECT_EQ(compared, recorded.steps.size());
}

INSTANTIATE_TEST_SUITE_P(PyTorch, RecordedPeaks, testing::ValuesIn(recorded_plans()),
                         [](const auto& plan) { return plan.param.name; });

}  // namespace
}  // namespace foreshard::simulator
