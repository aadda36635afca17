// What PyTorch's allocator is asked for in a step of blocks that torch.compile compiled: as many requests
// of each size, and the same peak, as PyTorch itself (tests/golden/compiled_requests). In float8, where what is
// kept of largest numbers is left out: nearly the same peak, and as many bytes that fused kernels move.
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
constexpr int kRanks = 8, kLastStep = 3, kBlocks = 2;

struct CompiledStep {
  std::map<std::int64_t, int> requests;  // by bytes
  std::int64_t peak = 0;                 // of the sum of what was requested and not freed
  std::int64_t moved = 0;                // by the fused kernels of one block
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
    } else if (key == "moved") {
      step.moved = std::stoll(value);
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

// Of the first block, whose graphs both share.
std::int64_t moved_by_fused(const RankProgram& program) {
  double moved = 0;
  for (const Instruction& i : program.step(kLastStep).instructions) {
    if (i.kind != Kind::launch || i.op == kNone) continue;
    const std::string_view name = program.operators[static_cast<std::size_t>(i.op)].name;
    if (!name.starts_with("triton")) continue;
    moved += bytes_moved(program.cost_keys[static_cast<std::size_t>(i.cost_key)]);
  }
  return static_cast<std::int64_t>(moved) / kBlocks;
}

RankProgram program_of(const std::string& name) {
  const auto model = load_llama_config((kRecorded / "llama3.1-8b-2layers.json").string());
  if (!model) throw std::runtime_error(model.error().text());
  const std::string file = (kRecorded / (name + ".toml")).string();
  const auto plan = load_plan(file);
  if (!plan) throw std::runtime_error(plan.error().text());
  const auto job = make_job(*model, *plan, file, kRanks);
  if (!job) throw std::runtime_error(job.error().text());
  return lower(*job, 0);
}

TEST_P(CompiledRequests, AreThoseOfPyTorch) {
  const std::string name = GetParam();
  const RankProgram program = program_of(name);
  const CompiledStep pytorch = recorded(name), ours = predicted(program);
  ASSERT_GT(pytorch.requests.size(), 20U);
  EXPECT_EQ(ours.requests, pytorch.requests);
  EXPECT_EQ(ours.peak, pytorch.peak);
  if (pytorch.moved > 0) {
    const auto moved = static_cast<double>(pytorch.moved);
    EXPECT_NEAR(static_cast<double>(moved_by_fused(program)), moved, 0.05 * moved);
  }
  EXPECT_EQ(tests::broken_laws(program), std::vector<std::string>());
}

class Float8Blocks : public testing::TestWithParam<const char*> {};

TEST_P(Float8Blocks, MoveAndKeepWhatTheyDoInPyTorch) {
  const RankProgram program = program_of(GetParam());
  const CompiledStep pytorch = recorded(GetParam()), ours = predicted(program);
  const auto peak = static_cast<double>(pytorch.peak), moved = static_cast<double>(pytorch.moved);
  EXPECT_NEAR(static_cast<double>(ours.peak), peak, 0.01 * peak);
  EXPECT_NEAR(static_cast<double>(moved_by_fused(program)), moved, 0.05 * moved);
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

INSTANTIATE_TEST_SUITE_P(Recorded, Float8Blocks,
                         testing::Values("tensorwise", "rowwise", "selective_tensorwise",
                                         "selective_rowwise", "full_tensorwise", "full_rowwise"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace foreshard
