// Programs from elsewhere are predicted as lowered ones are.
#include "simulator/predict/program_set.hpp"

#include <gtest/gtest.h>

#include "models/base/units.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::simulator {
namespace {

PredictionOptions on(const Machine& machine) {
  PredictionOptions options;
  options.machine = &machine;
  return options;
}

TEST(ProgramSet, OfAJobGivesTheJobsPrediction) {
  Plan plan;
  plan.batch.micro_batch = 1;
  plan.batch.sequence = 32;
  // 20 ranks on nodes of 8 and rows that 20 does not divide: ranks of several classes.
  const auto job = make_job(tests::small_llama({64, 160, 3, 4, 2, 300}), plan, "plan.toml", 20);
  ASSERT_TRUE(job) << job.error().text();
  const Machine machine = *load_machine("h100-sxm");
  const ProgramSet set = lower_all(*job, static_cast<int>(machine.gpus_per_node));
  EXPECT_GT(set.programs.size(), 1);
  EXPECT_EQ(set.ranks(), 20);
  const Prediction a = predict(set, on(machine)), b = predict(*job, on(machine));
  EXPECT_GT(a.step_time.count(), 0);
  EXPECT_EQ(a.step_time, b.step_time);
  EXPECT_EQ(a.tokens_per_s, b.tokens_per_s);
  EXPECT_EQ(a.mfu, b.mfu);
  EXPECT_EQ(a.run.class_of_rank, b.run.class_of_rank);
  ASSERT_EQ(a.ranks_memory.size(), b.ranks_memory.size());
  for (std::size_t r = 0; r < a.ranks_memory.size(); ++r) {
    EXPECT_EQ(a.ranks_memory[r].peaks, b.ranks_memory[r].peaks);
  }
}

// Nothing of a Llama: one buffer of 40 MiB that a kernel reads and writes, on three ranks.
TEST(ProgramSet, OfNoModelIsPredicted) {
  ProgramSet set;
  RankProgram& program = set.programs.emplace_back();
  program.streams = {{"compute"}};
  program.programs.resize(2);
  Buffer buffer;
  buffer.bytes = 40 * kMiB.count;
  program.buffers = {buffer};
  program.cost_keys = {{Operator::memory_bound,
                        DType::fp32,
                        DType::fp32,
                        DType::fp32,
                        {40 * kMiB.count, 40 * kMiB.count}}};
  Program& step = program.programs[1];
  const auto add = [&](Kind kind, std::int32_t target) -> Instruction& {
    Instruction& i = step.instructions.emplace_back();
    i.kind = kind;
    i.target = target;
    return i;
  };
  add(Kind::alloc, 0);
  add(Kind::launch, kNone).cost_key = 0;
  add(Kind::record_event, 0);
  add(Kind::host_wait, 0);
  add(Kind::free, 0);
  step.events = 1;
  set.class_of_rank = {0, 0, 0};
  set.places.resize(3);

  const Machine machine = *load_machine("h100-sxm");
  const Prediction p = predict(set, on(machine));
  EXPECT_TRUE(p.fits);
  ASSERT_EQ(p.ranks_memory.size(), 3);
  EXPECT_EQ(p.ranks_memory[2].peaks.allocated, 40 * kMiB.count);
  const double least_ns = 80.0 * static_cast<double>(kMiB.count) / (machine.memory_bandwidth / 1e9);
  EXPECT_GT(static_cast<double>(p.step_time.count()), least_ns);
  EXPECT_LT(static_cast<double>(p.step_time.count()), 3 * least_ns);
  EXPECT_EQ(p.tokens_per_s, 0);  // not known
  EXPECT_EQ(p.mfu, 0);
}

}  // namespace
}  // namespace foreshard::simulator
