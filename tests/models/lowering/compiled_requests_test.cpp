// What PyTorch's allocator is asked for in a step of blocks that torch.compile compiled: as many requests
// of each size, and the same peak, as PyTorch itself (tests/golden/compiled_requests).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "tests/models/lowering/program_checks.hpp"

namespace foreshard {
namespace {

const std::filesystem::path kRecorded =
    std::filesystem::path(FORESHARD_SOURCE_DIR) / "tests/golden/compiled_requests";
constexpr int kRanks = 8, kLastStep = 3;

struct CompiledStep {
  std::map<std::int64_t, int> requests;  // by bytes
  std::int64_t peak = 0;                 // of the sum of what was requested and not freed
  bool operator==(const CompiledStep&) const = default;
};

CompiledStep recorded(const std::string& name) {
  CompiledStep step;
  std::ifstream file(kRecorded / (name + ".csv"));
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream row(line);
    std::string key, value;
    std::getline(row, key, ',');
    std::getline(row, value);
    if (key == "peak") {
      step.peak = std::stoll(value);
    } else if (key != "bytes") {
      step.requests[std::stoll(key)] = std::stoi(value);
    }
  }
  return step;
}

CompiledStep predicted(const RankProgram& program) {
  CompiledStep result;
  std::int64_t alive = 0;
  for (int step = 0; step <= kLastStep; ++step) {
    result = {{}, alive};
    for (const Instruction& i : program.step(step).instructions) {
      if (i.kind != Kind::alloc && i.kind != Kind::free) continue;
      const Buffer& buffer = program.buffers[static_cast<std::size_t>(i.target)];
      if (buffer.on_host) continue;
      alive += i.kind == Kind::alloc ? buffer.bytes : -buffer.bytes;
      result.peak = std::max(result.peak, alive);
      if (i.kind == Kind::alloc) ++result.requests[buffer.bytes];
    }
  }
  return result;
}

class CompiledRequests : public testing::TestWithParam<const char*> {};

TEST_P(CompiledRequests, AreThoseOfPyTorch) {
  const std::string name = GetParam();
  const auto model = load_llama_config((kRecorded / "llama3.1-8b-2layers.json").string());
  ASSERT_TRUE(model) << model.error().text();
  const std::string file = (kRecorded / (name + ".toml")).string();
  const auto plan = load_plan(file);
  ASSERT_TRUE(plan) << plan.error().text();
  const auto job = make_job(*model, *plan, file, kRanks);
  ASSERT_TRUE(job) << job.error().text();
  const RankProgram program = lower(*job, 0);
  const CompiledStep pytorch = recorded(name), ours = predicted(program);
  ASSERT_GT(pytorch.requests.size(), 20U);
  EXPECT_EQ(ours.requests, pytorch.requests);
  EXPECT_EQ(ours.peak, pytorch.peak);
  EXPECT_EQ(tests::broken_laws(program), std::vector<std::string>());
}

int float8_products(const Program& program, const RankProgram& all) {
  return static_cast<int>(std::count_if(
      program.instructions.begin(), program.instructions.end(), [&](const Instruction& i) {
        if (i.kind != Kind::launch) return false;
        const CostKey& key = all.cost_keys[static_cast<std::size_t>(i.cost_key)];
        return is_matmul(key.op) && key.dtype == DType::fp8;
      }));
}

// Seven linear layers in each of two blocks, forward and backward; what is kept is not multiplied again.
TEST(Float8, TakesTheProductsOfBlocksOnly) {
  const auto model = load_llama_config((kRecorded / "llama3.1-8b-2layers.json").string());
  ASSERT_TRUE(model) << model.error().text();
  const std::map<std::string, int> again = {{"none", 0}, {"selective", 2 * 3}, {"full", 2 * 6}};
  for (const auto& [name, recomputed] : again) {
    for (const Float8Scaling scaling : {Float8Scaling::tensorwise, Float8Scaling::rowwise}) {
      SCOPED_TRACE(name);
      auto plan = load_plan((kRecorded / (name + ".toml")).string());
      ASSERT_TRUE(plan) << plan.error().text();
      plan->pytorch.float8 = scaling;
      const auto job = make_job(*model, *plan, name, kRanks);
      ASSERT_TRUE(job) << job.error().text();
      const RankProgram program = lower(*job, 0);
      EXPECT_EQ(float8_products(program.step(kLastStep), program), 2 * 7 * 3 + recomputed);
      EXPECT_EQ(tests::broken_laws(program), std::vector<std::string>());
    }
  }
}

// Compiled chunks, and logits that a loop keeps beside a compiled loss.
TEST(CompiledLosses, ObeyTheLaws) {
  const auto model = load_llama_config((kRecorded / "llama3.1-8b-2layers.json").string());
  auto plan = load_plan((kRecorded / "selective.toml").string());
  ASSERT_TRUE(model && plan);
  for (const LossKind kind : {LossKind::whole, LossKind::chunked, LossKind::compiled}) {
    plan->pytorch.loss = kind;
    plan->pytorch.keep_logits = kind != LossKind::chunked;
    const auto job = make_job(*model, *plan, "plan.toml", kRanks);
    ASSERT_TRUE(job) << job.error().text();
    EXPECT_EQ(tests::broken_laws(lower(*job, 0)), std::vector<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, CompiledRequests,
                         testing::Values("none", "selective", "full", "grouped", "loss"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace foreshard
