// Plans that were written from PyTorch runs, recorded and published ones: each is read, each of its
// settings counts, and writing it keeps it. A plan's file names keys of every kind.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "models/plan/plan.hpp"
#include "models/plan/plan_keys.hpp"
#include "tests/outside_data.hpp"

namespace foreshard {
namespace {

namespace fs = std::filesystem;

// What recorded steps were given and nothing reads: types of DDP's reductions and of states that SGD lacks,
// thresholds where the memory has no limit, and when a device is that records no stream.
bool is_of_the_step(const Plan& plan, const std::string& sentence) {
  return sentence.starts_with("allocator.garbage_collection_threshold ") ||
         (plan.runtime == RuntimeName::ddp && (sentence.starts_with("precision.reduce ") ||
                                               sentence.starts_with("pytorch.gpu_timing "))) ||
         (plan.optimizer.name == OptimizerName::sgd &&
          sentence.starts_with("precision.optimizer_state "));
}

// The plans below a folder; their number.
int expect_plans_in(const fs::path& folder) {
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (path.extension() != ".toml" || path.parent_path().filename() != "plans") continue;
    const Result<Plan> plan = load_plan(path.string());
    ++count;
    EXPECT_TRUE(plan) << plan.error().text();
    if (!plan) continue;
    std::vector<std::string> unread = settings_without_effect(*plan);
    std::erase_if(unread, [&](const std::string& s) { return is_of_the_step(*plan, s); });
    EXPECT_EQ(unread, std::vector<std::string>{}) << path;
    EXPECT_EQ(*parse_plan(to_toml(*plan), "written"), *plan) << path;
  }
  return count;
}

TEST(DescribedPlans, OfShippedLogsAreRead) {
  EXPECT_GE(expect_plans_in(FORESHARD_SOURCE_DIR "/tests/golden/fsdp_requests"), 40);
}

TEST(DescribedPlans, OfRecordedStepsAreRead) {
  EXPECT_GE(expect_plans_in(tests::evidence("memory")), 500);
}

TEST(DescribedPlans, OfPublishedRunsAreRead) {
  EXPECT_GE(expect_plans_in(tests::evidence("published")), 50);
}

}  // namespace
}  // namespace foreshard
