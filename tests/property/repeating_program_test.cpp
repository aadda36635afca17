// Programs with a repetition, unrolled, are those that are lowered micro-step by micro-step.
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "models/program/unrolled.hpp"
#include "tests/property/accumulating_job.hpp"

namespace foreshard {
namespace {

auto fields(const Instruction& i) {
  return std::tie(i.kind, i.stream, i.phase, i.group, i.micro_step, i.unit, i.target, i.module,
                  i.cost_key, i.aux, i.operands, i.reads, i.writes);
}

auto fields(const Buffer& b) {
  return std::tie(b.bytes, b.on_host, b.persistent, b.pool, b.category, b.unit, b.owner, b.role);
}

void expect_equal(const RankProgram& a, const RankProgram& b) {
  ASSERT_EQ(a.buffers.size(), b.buffers.size());
  for (std::size_t n = 0; n < a.buffers.size(); ++n) {
    ASSERT_EQ(fields(a.buffers[n]), fields(b.buffers[n])) << "buffer " << n;
  }
  ASSERT_TRUE(a.cost_keys == b.cost_keys);
  ASSERT_EQ(a.own_names, b.own_names);
  ASSERT_EQ(a.programs.size(), b.programs.size());
  for (std::size_t p = 0; p < a.programs.size(); ++p) {
    const Program &x = a.programs[p], &y = b.programs[p];
    EXPECT_EQ(x.events, y.events);
    EXPECT_EQ(x.operands, y.operands);
    ASSERT_EQ(x.instructions.size(), y.instructions.size());
    for (std::size_t n = 0; n < x.instructions.size(); ++n) {
      ASSERT_EQ(fields(x.instructions[n]), fields(y.instructions[n]))
          << "program " << p << ", instruction " << n;
    }
  }
}

TEST(Repetition, UnrolledIsWhatIsLoweredMicroStepByMicroStep) {
  int repeating = 0;
  for (int draw = 0; draw < tests::draws(400) && !HasFailure(); ++draw) {
    tests::JobDrawer drawer(40'000 + static_cast<std::uint64_t>(draw));
    const Job job = tests::accumulating_job(drawer);
    SCOPED_TRACE("draw " + std::to_string(draw) + ", " + tests::job_text(job));
    const RankProgram repeated = lower_repeating(job, job.ranks - 1);
    repeating += repeated.programs[2].repetition.more > 0 ? 1 : 0;
    expect_equal(unrolled(repeated), lower(job, job.ranks - 1));
  }
  EXPECT_GT(repeating, tests::draws(400) / 3);
}

TEST(Repetition, UnrolledIsWhatIsLoweredMicroStepByMicroStepOfPyTorch) {
  int repeating = 0;
  for (int draw = 0; draw < tests::draws(200) && !HasFailure(); ++draw) {
    tests::JobDrawer drawer(90'000 + static_cast<std::uint64_t>(draw));
    const auto job = tests::accumulating_pytorch_job(drawer);
    if (!job) continue;
    SCOPED_TRACE("draw " + std::to_string(draw) + ", " + tests::job_text(*job));
    const RankProgram repeated = lower_repeating(*job, 0);
    repeating += repeated.programs[2].repetition.more > 0 ? 1 : 0;
    expect_equal(unrolled(repeated), lower(*job, 0));
  }
  EXPECT_GT(repeating, tests::draws(200) / 20);
}

// Of other units, operators and names, and longer or shorter.
TEST(Repetition, IsTheSameInTheMemoryOfAnotherProgram) {
  RankProgram before;
  for (int draw = 0; draw < tests::draws(300) && !HasFailure(); ++draw) {
    tests::JobDrawer drawer(120'000 + static_cast<std::uint64_t>(draw));
    const Job job = tests::any_accumulating_job(drawer);
    SCOPED_TRACE("draw " + std::to_string(draw) + ", " + tests::job_text(job));
    before = lower_repeating(job, 0, {}, std::move(before));
    expect_equal(before, lower_repeating(job, 0));
  }
}

}  // namespace
}  // namespace foreshard
