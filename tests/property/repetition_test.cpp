// Micro-steps that are written down as a repetition are those that are lowered one by one.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "models/program/unrolled.hpp"
#include "simulator/predict/memory.hpp"
#include "tests/property/random_job.hpp"

namespace foreshard {
namespace {

Job random_job(tests::JobDrawer& drawer) {
  Job job = drawer.draw();
  job.plan.batch.accumulation = drawer.integer(1, 9);
  return job;
}

std::string text(const Job& job) {
  return std::to_string(job.ranks) + " ranks\n" + to_toml(job.plan) + to_json(job.model);
}

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
    const Job job = random_job(drawer);
    SCOPED_TRACE("draw " + std::to_string(draw) + ", " + text(job));
    const RankProgram repeated = lower_repeating(job, job.ranks - 1);
    repeating += repeated.programs[2].repetition.more > 0 ? 1 : 0;
    expect_equal(unrolled(repeated), lower(job, job.ranks - 1));
  }
  EXPECT_GT(repeating, tests::draws(400) / 3);
}

void expect_equal(const simulator::RankMemory& a, const simulator::RankMemory& b) {
  EXPECT_EQ(a.run, b.run);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.peak_host, b.peak_host);
  const auto moment = [](const simulator::PeakMoment& p) {
    return std::tie(p.step, p.instruction, p.phase, p.unit, p.by_category);
  };
  EXPECT_EQ(moment(a.peak), moment(b.peak));
  ASSERT_EQ(a.failure.has_value(), b.failure.has_value());
  if (a.failure) {
    const auto failure = [](const simulator::MemoryFailure& f) {
      return std::tie(f.step, f.instruction, f.requested, f.allocated, f.reserved);
    };
    EXPECT_EQ(failure(*a.failure), failure(*b.failure));
  }
  ASSERT_EQ(a.delays.size(), b.delays.size());
  for (std::size_t d = 0; d < a.delays.size(); ++d) {
    const simulator::HostDelay &x = a.delays[d], &y = b.delays[d];
    EXPECT_EQ(std::tie(x.step, x.instruction, x.ns, x.drains),
              std::tie(y.step, y.instruction, y.ns, y.drains));
  }
}

// On devices without a limit and on those on which the cache is released, or memory runs out.
TEST(Repetition, TakesTheMemoryOfAllItsMicroSteps) {
  int failures = 0, releases = 0;
  for (int draw = 0; draw < tests::draws(400) && !HasFailure(); ++draw) {
    tests::JobDrawer drawer(50'000 + static_cast<std::uint64_t>(draw));
    const Job job = random_job(drawer);
    SCOPED_TRACE("draw " + std::to_string(draw) + ", " + text(job));
    const RankProgram repeated = lower_repeating(job, 0), full = unrolled(repeated);
    simulator::MemoryOptions options;
    options.steps = 3;
    options.segment_alloc_ns = options.segment_free_ns = 1;
    const auto& settings = job.plan.allocator;
    const simulator::RankMemory unlimited = simulate_memory(full, settings, options);
    expect_equal(simulate_memory(repeated, settings, options), unlimited);
    options.capacity = unlimited.run.reserved * drawer.integer(60, 100) / 100;
    const simulator::RankMemory limited = simulate_memory(full, settings, options);
    expect_equal(simulate_memory(repeated, settings, options), limited);
    if (limited.failure) {
      ++failures;
      options.stop =
          simulator::MemoryFailure{2, static_cast<std::int32_t>(drawer.integer(0, 3000)), 0, 0, 0};
      options.capacity.reset();
      expect_equal(simulate_memory(repeated, settings, options),
                   simulate_memory(full, settings, options));
    } else {
      releases += std::any_of(limited.delays.begin(), limited.delays.end(),
                              [](const simulator::HostDelay& d) { return d.drains; });
    }
  }
  EXPECT_GT(failures, 0);
  EXPECT_GT(releases, 0);
}

}  // namespace
}  // namespace foreshard
