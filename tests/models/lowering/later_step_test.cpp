// A later step that is made from the first is the one that lowering again would make.
#include "models/lowering/script/later_step.hpp"

#include <gtest/gtest.h>

#include "models/lowering/operators/foreshard.hpp"
#include "models/lowering/runtimes/fsdp2.hpp"
#include "models/lowering/training/training_loop.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::lowering {
namespace {

struct PlanCase {
  const char* name;
  const char* plan;
};

class LaterStep : public testing::TestWithParam<PlanCase> {};

// Buffers from `begin` on count from there, so that steps on different buffers can be compared.
BufferId relative(BufferId buffer, std::size_t begin) {
  const auto first = static_cast<BufferId>(begin);
  return buffer < first ? buffer : 1'000'000 + buffer - first;
}

bool has_buffer(Kind kind) {
  return kind == Kind::alloc || kind == Kind::free || kind == Kind::record_stream;
}

TEST_P(LaterStep, IsWhatLoweringAgainMakes) {
  const auto plan = parse_plan(GetParam().plan, "plan.toml");
  ASSERT_TRUE(plan) << plan.error().text();
  const auto job = make_job(tests::small_llama({64, 160, 3, 4, 2, 300}), *plan, "plan.toml", 2);
  ASSERT_TRUE(job) << job.error().text();
  RankProgram program;
  program.device = job->device;
  program.place = place_of(*job, 1);
  program.units = unit_layouts(*job, program.place);
  program.programs.resize(4);
  Emitter emit(program, job->tree);
  Fsdp2 runtime(*job, program, emit);
  TrainingLoop loop(*job, program.place, emit, runtime, foreshard_operators(*job), {});
  loop.setup(program.programs[0]);
  loop.step(program.programs[1]);
  const std::size_t begin = program.buffers.size();
  emit.repeat(program.programs[1], program.programs[2]);
  const std::size_t begin_again = program.buffers.size();
  loop.step(program.programs[3]);

  ASSERT_EQ(begin_again - begin, program.buffers.size() - begin_again);
  for (std::size_t b = begin; b < begin_again; ++b) {
    const Buffer& made = program.buffers[b];
    const Buffer& expected = program.buffers[b + begin_again - begin];
    EXPECT_EQ(made.bytes, expected.bytes) << b;
    EXPECT_EQ(made.role, expected.role) << b;
    EXPECT_EQ(made.owner, expected.owner) << b;
    EXPECT_EQ(made.unit, expected.unit) << b;
    EXPECT_EQ(made.pool, expected.pool) << b;
    EXPECT_EQ(made.persistent, expected.persistent) << b;
  }
  const Program &made = program.programs[2], &expected = program.programs[3];
  EXPECT_EQ(made.events, expected.events);
  ASSERT_EQ(made.operands.size(), expected.operands.size());
  for (std::size_t o = 0; o < made.operands.size(); ++o) {
    EXPECT_EQ(relative(made.operands[o], begin), relative(expected.operands[o], begin_again)) << o;
  }
  ASSERT_EQ(made.instructions.size(), expected.instructions.size());
  EXPECT_EQ(program.programs[1].instructions.size() > made.instructions.size(),
            plan->optimizer.name == OptimizerName::adamw);
  for (std::size_t n = 0; n < made.instructions.size(); ++n) {
    const Instruction &a = made.instructions[n], &b = expected.instructions[n];
    const auto target = [](const Instruction& i, std::size_t from) {
      return has_buffer(i.kind) ? relative(i.target, from) : i.target;
    };
    EXPECT_EQ(target(a, begin), target(b, begin_again)) << n;
    EXPECT_EQ(std::tie(a.kind, a.stream, a.phase, a.group, a.micro_step, a.unit, a.module),
              std::tie(b.kind, b.stream, b.phase, b.group, b.micro_step, b.unit, b.module))
        << n;
    EXPECT_EQ(std::tie(a.cost_key, a.aux, a.operands, a.reads, a.writes),
              std::tie(b.cost_key, b.aux, b.operands, b.reads, b.writes))
        << n;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, LaterStep,
    testing::Values(PlanCase{"Default", ""}, PlanCase{"Sgd", "optimizer = {name = 'sgd'}\n"},
                    PlanCase{"Accumulation", "batch = {accumulation = 3}\n"},
                    PlanCase{"Checkpointing", "checkpointing = {mode = 'full'}\n"},
                    PlanCase{"OffloadedParameters", "offload = {parameters = true}\n"},
                    PlanCase{"OffloadedOptimizer", "offload = {optimizer = true}\n"},
                    PlanCase{"OffloadedActivations", "offload = {activations = true}\n"}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace foreshard::lowering
