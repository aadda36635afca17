// Random models and plans on the CUDA device, whose kernels run on the host: memory is what was predicted,
// losses are those of the CPU but for rounding, and neither poison, nor checkpointing, nor streams that
// are out of step change a bit.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/cuda/runs_on_cuda.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard {
namespace {

using namespace tests;

void expect_near_steps(const executor::TrainingResult& a, const executor::TrainingResult& b,
                       double tolerance) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t s = 0; s < a.steps.size(); ++s) {
    EXPECT_NEAR(a.steps[s].loss, b.steps[s].loss, tolerance * std::abs(a.steps[s].loss));
  }
}

TEST(CudaAgreement, MemoryIsThePredictedAndNumbersAreTheCpus) {
  for (int draw = 0; draw < draws(4) && !HasFailure(); ++draw) {
    JobDrawer drawer(40'000 + static_cast<std::uint64_t>(draw));
    const Job job = drawn(drawer);
    SCOPED_TRACE(std::to_string(job.ranks) + " ranks\n" + to_toml(job.plan) + to_json(job.model));
    const TemporaryFolder folder;
    const auto plain = run(job, on_cuda({.weights_file = folder.path("plain.safetensors")}));
    expect_same_memory(predicted(job, std::nullopt, {.exports_weights = true}), plain);
    const auto poisoned =
        run(job, on_cuda({.poisons = true, .weights_file = folder.path("poisoned.safetensors")}));
    expect_same_steps(plain, poisoned);
    EXPECT_TRUE(contents(folder.path("plain.safetensors")) ==
                contents(folder.path("poisoned.safetensors")))
        << "the trained weights differ";
    Job on_cpu = job;
    on_cpu.own_device = on_cpu.device = {};
    const bool is_fp32 =
        job.plan.precision.param == DType::fp32 && job.plan.precision.reduce == DType::fp32;
    expect_near_steps(run(on_cpu), plain, is_fp32 ? 2e-5 : 3e-2);
  }
}

TEST(CudaAgreement, MemoryRunsOutWherePredicted) {
  int failures = 0;
  for (int draw = 0; draw < draws(4) && !HasFailure(); ++draw) {
    JobDrawer drawer(50'000 + static_cast<std::uint64_t>(draw));
    const Job job = drawn(drawer);
    std::int64_t peak = 0;
    for (const auto& rank : predicted(job, std::nullopt).ranks_memory) {
      peak = std::max(peak, rank.peaks.reserved);
    }
    const std::int64_t capacity = peak * drawer.integer(40, 100) / 100;
    SCOPED_TRACE("capacity " + std::to_string(capacity) + ", " + std::to_string(job.ranks) +
                 " ranks\n" + to_toml(job.plan));
    const auto p = predicted(job, capacity);
    const auto r = run(job, on_cuda({.capacity = capacity}));
    ASSERT_EQ(p.oom.has_value(), r.oom.has_value());
    if (!p.oom) {
      expect_same_memory(p, r);
      continue;
    }
    ++failures;
    EXPECT_EQ(to_json(*p.oom), to_json(*r.oom));
  }
  EXPECT_GE(failures, 1) << "capacities were too generous to test anything";
}

}  // namespace
}  // namespace foreshard
