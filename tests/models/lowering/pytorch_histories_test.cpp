// Whole allocation histories of PyTorch, from the set-up to the last step: what unmodified PyTorch asked
// of its allocator, request by request and free by free, is what the program of the plan does.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "tests/models/lowering/allocator_requests.hpp"
#include "tests/models/lowering/program_checks.hpp"
#include "tests/models/lowering/pytorch_case.hpp"
#include "tests/models/lowering/recorded_cases.hpp"

namespace foreshard {
namespace {

const std::filesystem::path kRoot(FORESHARD_SOURCE_DIR);
const std::filesystem::path kConfigs = kRoot / "tests/golden/fsdp_requests/configs";
const std::filesystem::path kGpuLogs = kRoot / "traces/samples/pytorch_gpu/h100/events";

void expect_history(const Job& job, int rank, int steps, const std::filesystem::path& log) {
  const tests::Requests pytorch = tests::requests(log_lines(log));
  // One step more: a log may end with what the next step frees first.
  tests::Requests ours = tests::requests(lower(job, rank), 0, steps + 1);
  ASSERT_GT(pytorch.size(), 100U);
  ASSERT_GT(ours.size(), pytorch.size());
  ours.resize(pytorch.size());
  const std::string difference = tests::difference(ours, pytorch);
  EXPECT_TRUE(difference.empty()) << difference;
}

class PyTorchHistories : public testing::TestWithParam<RecordedCase> {};

TEST_P(PyTorchHistories, AreThoseOfThePlansPrograms) {
  const RecordedCase& c = GetParam();
  const auto model = load_llama_config(c.config.string());
  ASSERT_TRUE(model) << model.error().text();
  const auto plan = parse_plan(c.plan(), c.id);
  ASSERT_TRUE(plan) << plan.error().text();
  const auto job = make_job(*model, *plan, c.id, c.ranks);
  ASSERT_TRUE(job) << job.error().text();
  expect_history(*job, c.rank, c.steps, c.log());
}

TEST_P(PyTorchHistories, ComeFromProgramsThatObeyTheLaws) {
  const RecordedCase& c = GetParam();
  const auto model = load_llama_config(c.config.string());
  const auto plan = parse_plan(c.plan(), c.id);
  ASSERT_TRUE(model && plan);
  const auto job = make_job(*model, *plan, c.id, c.ranks);
  ASSERT_TRUE(job) << job.error().text();
  EXPECT_EQ(tests::broken_laws(lower(*job, c.rank)), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Recorded, PyTorchHistories, testing::ValuesIn(recorded_cases("")),
                         [](const auto& recorded) { return test_name(recorded.param); });

// The same of real kernels on an H100, whose logs describe their plans in words.
class GpuHistories : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(GpuHistories, AreThoseOfThePlansPrograms) {
  const nlohmann::json words = log_lines(GetParam()).front()["case"];
  const std::string model = words["model"];
  std::ifstream config(kConfigs / (model + ".json"));
  const tests::PyTorchCase c = tests::pytorch_case(words, nlohmann::json::parse(config));
  const auto job = make_job(c.model, c.plan, words["id"], c.ranks);
  ASSERT_TRUE(job) << job.error().text();
  expect_history(*job, c.rank, c.steps, GetParam());
}

std::vector<std::filesystem::path> gpu_logs() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(kGpuLogs)) {
    found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

INSTANTIATE_TEST_SUITE_P(H100, GpuHistories, testing::ValuesIn(gpu_logs()),
                         [](const auto& log) { return log.param.stem().stem().string(); });

}  // namespace
}  // namespace foreshard
