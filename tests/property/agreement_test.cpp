// What is predicted is what happens, for random models and plans: peaks of every rank and step, and
// where memory runs out. And a run in poison mode, where memory that was freed or not yet written
// holds NaNs, computes the same numbers to the last bit; so do a run that keeps every activation where
// the plan computes some of them again, and runs on devices that delay work at random or do it at once.
#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "tests/executor/cpu/delaying_device.hpp"
#include "tests/executor/cpu/immediate_device.hpp"
#include "tests/executor/cpu/refusing_device.hpp"
#include "tests/models/lowering/program_checks.hpp"
#include "tests/property/random_job.hpp"
#include "tests/property/run_and_prediction.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard {
namespace {

using namespace tests;

executor::DeviceFactory delaying(unsigned seed) {
  return [seed](executor::RunControl& control, int rank, std::span<const StreamInfo> streams,
                int threads) {
    return std::make_unique<executor::DelayingDevice>(control, rank, streams, threads, seed);
  };
}

std::unique_ptr<executor::Device> immediate(executor::RunControl& control, int rank,
                                            std::span<const StreamInfo> streams, int threads) {
  return std::make_unique<executor::ImmediateDevice>(control, rank, streams, threads);
}

executor::DeviceFactory refusing(std::int64_t bytes) {
  return [bytes](executor::RunControl& control, int rank, std::span<const StreamInfo> streams,
                 int threads) {
    return std::make_unique<executor::RefusingDevice>(control, rank, streams, threads, bytes);
  };
}

// The job's twin that keeps every activation, run and compared to the last bit.
void expect_numbers_of_the_twin_without_checkpointing(const Job& job,
                                                      const executor::TrainingResult& plain,
                                                      const tests::TemporaryFolder& folder) {
  Job twin = job;
  twin.plan.checkpointing = {};
  SCOPED_TRACE("against the same plan without checkpointing");
  expect_same_steps(plain, run(twin, {.weights_file = folder.path("twin.safetensors")}));
  EXPECT_TRUE(contents(folder.path("plain.safetensors")) ==
              contents(folder.path("twin.safetensors")))
      << "the trained weights differ";
}

executor::DeviceFactory any_device(int draw) {
  if (draw % 4 == 1) return delaying(static_cast<unsigned>(draw));
  if (draw % 4 == 2) return immediate;
  return {};
}

TEST(Agreement, PredictedPeaksAreTheRunsAndPoisonAndCheckpointingChangeNothing) {
  const std::uint64_t first_seed = 1;
  for (int draw = 0; draw < tests::draws(60) && !HasFailure(); ++draw) {
    tests::JobDrawer drawer(first_seed + static_cast<std::uint64_t>(draw));
    const Job job = drawer.draw();
    SCOPED_TRACE("seed " + std::to_string(first_seed + static_cast<std::uint64_t>(draw)) + ", " +
                 std::to_string(job.ranks) + " ranks\n" + to_toml(job.plan) + to_json(job.model));
    for (const bool all : {false, true}) {  // what a run can do besides training
      const auto broken = tests::broken_laws(lower(job, job.ranks - 1, {all, all, all, all}));
      EXPECT_TRUE(broken.empty()) << broken.front();
    }
    const tests::TemporaryFolder folder;
    const RunVariant keeps{.exports_gradients = drawer.chance(0.5),
                           .exports_weights = true,
                           .saves = drawer.chance(0.5)};
    const auto plain =
        run(job, {.weights_file = folder.path("plain.safetensors"),
                  .gradients_file = keeps.exports_gradients ? folder.path("gradients") : "",
                  .checkpoint = keeps.saves ? folder.path("checkpoint") : ""});
    expect_same_memory(predicted(job, std::nullopt, keeps), plain);
    const auto poisoned = run(job, {.poisons = true});
    expect_same_memory(predicted(job, std::nullopt), poisoned);
    expect_same_steps(plain, poisoned);
    if (job.plan.checkpointing.mode != CheckpointMode::none) {
      expect_numbers_of_the_twin_without_checkpointing(job, plain, folder);
    }
  }
}

// Streams that are out of step change neither a number nor what is held when, and neither does a host
// that does everything in the order of the program.
TEST(Agreement, NoDeviceChangesAnything) {
  const std::uint64_t first_seed = 20'000;
  for (int draw = 0; draw < tests::draws(25) && !HasFailure(); ++draw) {
    const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(draw);
    tests::JobDrawer drawer(seed);
    const Job job = drawer.draw();
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(job.ranks) + " ranks\n" +
                 to_toml(job.plan) + to_json(job.model));
    const tests::TemporaryFolder folder;
    const auto prediction = predicted(job, std::nullopt, {.exports_weights = true});
    const auto plain = run(job, {.weights_file = folder.path("plain.safetensors")});
    const std::pair<const char*, executor::DeviceFactory> devices[] = {
        {"delaying", delaying(static_cast<unsigned>(seed))}, {"immediate", immediate}};
    for (const auto& [name, make_device] : devices) {
      SCOPED_TRACE(name);
      const auto other = run(job, {.poisons = drawer.chance(0.5),
                                   .weights_file = folder.path("other.safetensors"),
                                   .make_device = make_device});
      expect_same_memory(prediction, other);
      expect_same_steps(plain, other);
      EXPECT_TRUE(contents(folder.path("plain.safetensors")) ==
                  contents(folder.path("other.safetensors")))
          << "the trained weights differ";
    }
  }
}

// Random jobs on devices of 40 to 101 % of the reserved peak: the run ends where it is predicted to, or
// has the predicted peaks. `prepare` changes a drawn job; `run_with` runs it with that much memory.
template <typename Prepare, typename RunWith>
void expect_memory_to_run_out_as_predicted(std::uint64_t first_seed, int count,
                                           const Prepare& prepare, const RunWith& run_with) {
  int failures = 0;
  for (int draw = 0; draw < count && !testing::Test::HasFailure(); ++draw) {
    const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(draw);
    tests::JobDrawer drawer(seed);
    Job job = drawer.draw();
    prepare(job);
    std::int64_t peak = 0;
    for (const auto& rank : predicted(job, std::nullopt).ranks_memory) {
      peak = std::max(peak, rank.peaks.reserved);
    }
    const std::int64_t capacity = peak * drawer.integer(40, 101) / 100;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", capacity " + std::to_string(capacity) + ", " +
                 std::to_string(job.ranks) + " ranks\n" + to_toml(job.plan));
    const auto p = predicted(job, capacity);
    const auto r = run_with(job, capacity, draw);
    ASSERT_EQ(p.oom.has_value(), r.oom.has_value());
    if (!p.oom) {
      expect_same_memory(p, r);
      continue;
    }
    ++failures;
    EXPECT_EQ(to_json(*p.oom), to_json(*r.oom));
  }
  EXPECT_GE(failures, count / 4) << "capacities were too generous to test anything";
}

TEST(Agreement, MemoryRunsOutAtThePredictedInstruction) {
  expect_memory_to_run_out_as_predicted(
      10'000, tests::draws(80), [](Job&) {},
      [](const Job& job, std::int64_t capacity, int draw) {
        return run(job, {.capacity = capacity, .make_device = any_device(draw)});
      });
}

// A driver that refuses at some number of bytes is a device of that capacity, though none was declared.
TEST(Agreement, MemoryRunsOutWhereTheDriverRefuses) {
  expect_memory_to_run_out_as_predicted(
      30'000, tests::draws(40),
      [](Job& job) {  // both follow the declared capacity
        job.plan.allocator.expandable_segments = false;
        job.plan.allocator.garbage_collection_threshold = 0;
      },
      [](const Job& job, std::int64_t capacity, int) {
        return run(job, {.make_device = refusing(capacity)});
      });
}

}  // namespace
}  // namespace foreshard
