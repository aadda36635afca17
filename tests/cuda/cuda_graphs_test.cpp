// Steps that are launched as CUDA graphs compute what steps that are issued compute, bit for bit,
// in the same memory: with random plans, with learning rates and tokens that change, over NCCL,
// where buffers move, and where CUDA refuses a capture.
#include <map>

#include <gtest/gtest.h>

#include "tests/cuda/cuda_devices.hpp"
#include "tests/cuda/runs_on_cuda.hpp"

namespace foreshard {
namespace {

using namespace tests;

constexpr std::int64_t kManySteps = 6;

Job with_changing_rate(Job job) {
  job.plan.optimizer.schedule = Schedule::cosine;
  job.plan.optimizer.warmup_steps = 2;
  return job;
}

RunOptions with_graphs(RunOptions how) {
  how.uses_graphs = true;
  return how;
}

void expect_same_runs(const executor::TrainingResult& a, const executor::TrainingResult& b) {
  expect_same_steps(a, b);
  ASSERT_EQ(a.memory.size(), b.memory.size());
  for (std::size_t rank = 0; rank < a.memory.size(); ++rank) {
    EXPECT_EQ(a.memory[rank].host, b.memory[rank].host);
    ASSERT_EQ(a.memory[rank].steps.size(), b.memory[rank].steps.size());
    for (std::size_t s = 0; s < a.memory[rank].steps.size(); ++s) {
      EXPECT_EQ(a.memory[rank].steps[s].steps, b.memory[rank].steps[s].steps);
      expect_equal(a.memory[rank].steps[s].peaks, b.memory[rank].steps[s].peaks);
    }
  }
}

Job one_rank(JobDrawer& drawer) {
  Job job = drawn(drawer);
  while (job.ranks > 1) job = drawn(drawer);
  return with_changing_rate(std::move(job));
}

TEST(CudaGraphs, RandomRunsAreTheSameAsWithout) {
  std::int64_t launched = 0;
  for (int draw = 0; draw < draws(2) && !HasFailure(); ++draw) {
    JobDrawer drawer(60'000 + static_cast<std::uint64_t>(draw));
    const Job job = one_rank(drawer);
    SCOPED_TRACE(to_toml(job.plan) + to_json(job.model));
    const RunOptions how = on_cuda({.steps = kManySteps});
    const auto graphs = run(job, with_graphs(how));
    expect_same_runs(run(job, how), graphs);
    launched += graphs.graphs->steps_launched;
    RecordProperty("draw" + std::to_string(draw),
                   std::to_string(graphs.graphs->steps_launched) + " " + graphs.graphs->reason);
  }
  EXPECT_GT(launched, 0);
}

// Ranks that are threads with a GPU each.
RunOptions over_nccl(RunOptions how) {
  how.make_device = [](executor::RunControl& control, int rank, std::span<const StreamInfo> streams,
                       int /*threads*/) {
    return library().make_device(control, rank, rank, streams, {});
  };
  how.make_communicators = [](executor::RunControl& control,
                              std::span<executor::Device* const> devices,
                              std::span<const int> ranks, executor::Transport* transport) {
    return library().make_nccl_communicators(control, devices, ranks, transport);
  };
  return how;
}

TEST(CudaGraphs, RanksOverNcclAreTheSameAsWithout) {
  const executor::cuda::HostGpus host_gpus(4);
  if (!library().nccl_version()) GTEST_SKIP() << "there is no NCCL";
  const auto gpus = static_cast<int>(library().devices()->size());
  if (gpus < 2) GTEST_SKIP() << "there is one GPU";
  std::int64_t launched = 0;
  for (int draw = 0; draw < draws(2) && !HasFailure(); ++draw) {
    JobDrawer drawer(61'000 + static_cast<std::uint64_t>(draw));
    Job job = drawn(drawer);
    while (job.ranks == 1 || job.ranks > gpus) job = drawn(drawer);
    job = with_changing_rate(std::move(job));
    SCOPED_TRACE(std::to_string(job.ranks) + " ranks\n" + to_toml(job.plan) + to_json(job.model));
    const RunOptions how = over_nccl({.steps = kManySteps});
    const auto graphs = run(job, with_graphs(how));
    expect_same_runs(run(job, how), graphs);
    launched += graphs.graphs->steps_launched;
  }
  EXPECT_GT(launched, 0);
}

// A device whose memory lies elsewhere from some step on: each segment is there twice.
class MovingDevice final : public executor::cuda::CudaDevice {
 public:
  static constexpr int kMovesAt = 6;  // the set-up is the first program, step 5 the sixth

  MovingDevice(executor::RunControl& control, int rank, std::span<const StreamInfo> streams)
      : CudaDevice(control, rank, 0, streams), twice_(CudaDevice::backing()) {}

  void begin(const Program& program) override {
    ++programs_;
    CudaDevice::begin(program);
  }
  SegmentBacking& backing() override { return twice_; }
  std::byte* pointer(Address address) const override {
    std::byte* const first = CudaDevice::pointer(address);
    return programs_ < kMovesAt ? first : first + twice_.segment_of(address);
  }

 private:
  class Twice final : public SegmentBacking {
   public:
    explicit Twice(SegmentBacking& all) : all_(all) {}
    bool commit(Address address, std::int64_t bytes) override {
      segments_[address] = bytes;
      return all_.commit(address, 2 * bytes);
    }
    void decommit(Address address, std::int64_t bytes) override {
      all_.decommit(address, 2 * bytes);
      segments_.erase(address);
    }
    bool begin_range(AddressRange, std::int64_t) override { return false; }
    void end_range(AddressRange) override {}
    std::int64_t segment_of(Address address) const {
      return std::prev(segments_.upper_bound(address))->second;
    }

   private:
    SegmentBacking& all_;
    std::map<Address, std::int64_t> segments_;
  };

  Twice twice_;
  int programs_ = 0;
};

// A device that cannot copy in a graph.
class UncapturableDevice final : public executor::cuda::CudaDevice {
 public:
  UncapturableDevice(executor::RunControl& control, int rank, std::span<const StreamInfo> streams,
                     int gpu = 0)
      : CudaDevice(control, rank, gpu, streams) {}
  void copy(Stream stream, executor::Tag tag, std::span<std::byte> to,
            const std::byte* from) override {
    if (captured() != nullptr && tag % 2 == 1) throw std::runtime_error("refused");
    CudaDevice::copy(stream, tag, to, from);
  }
};

template <class SomeDevice>
executor::DeviceFactory factory() {
  return [](executor::RunControl& control, int rank, std::span<const StreamInfo> streams,
            int /*threads*/) { return std::make_unique<SomeDevice>(control, rank, streams); };
}

Job plain_job() {
  JobDrawer drawer(62'000);
  Job job = one_rank(drawer);
  job.plan = {};
  job.plan.batch = {1, 16, 2, When::every, When::every};
  return with_changing_rate(std::move(job));
}

TEST(CudaGraphs, AreMadeAnewWhereBuffersHaveMoved) {
  const Job job = plain_job();
  RunOptions how = on_cuda({.steps = 8});
  const auto without = run(job, how);
  EXPECT_FALSE(without.graphs);
  const auto always = run(job, with_graphs(how));
  expect_same_runs(without, always);
  EXPECT_EQ(always.graphs->steps_launched, 6);
  EXPECT_EQ(always.graphs->reason, "");
  how.make_device = factory<MovingDevice>();
  const auto moved = run(job, with_graphs(how));
  expect_same_runs(without, moved);
  EXPECT_EQ(moved.graphs->steps_launched, 5);
  EXPECT_EQ(moved.graphs->reason, "buffers lay elsewhere than in the step before");
}

TEST(CudaGraphs, ARefusedCaptureLeavesTheStepToBeIssued) {
  const Job job = plain_job();
  RunOptions how = on_cuda({.steps = kManySteps});
  const auto without = run(job, how);
  how.make_device = factory<UncapturableDevice>();
  const auto refused = run(job, with_graphs(how));
  expect_same_runs(without, refused);
  EXPECT_EQ(refused.graphs->steps_launched, 0);
  EXPECT_EQ(refused.graphs->reason, "the step cannot be captured: refused");
}

TEST(CudaGraphs, PoisonGoesWithoutAndSaysSo) {
  const auto poisoned =
      run(plain_job(), with_graphs(on_cuda({.poisons = true, .steps = kManySteps})));
  EXPECT_EQ(poisoned.graphs->steps_launched, 0);
  EXPECT_EQ(poisoned.graphs->reason, "memory is poisoned");
}

// Graphs of a rank that is asked to test them first.
RunOptions with_tested_graphs(RunOptions how) {
  how.tests_graphs = true;
  return with_graphs(std::move(how));
}

// A device whose graphs lack what was filled while they were captured.
class ForgetfulDevice final : public executor::cuda::CudaDevice {
 public:
  ForgetfulDevice(executor::RunControl& control, int rank, std::span<const StreamInfo> streams)
      : CudaDevice(control, rank, 0, streams) {}
  void fill(Stream stream, executor::Tag tag, std::span<std::byte> memory,
            std::byte value) override {
    if (captured() == nullptr) CudaDevice::fill(stream, tag, memory, value);
  }
};

TEST(CudaGraphs, AreUsedWhereASmallOneIsRight) {
  const Job job = plain_job();
  RunOptions how = on_cuda({.steps = kManySteps});
  const auto without = run(job, how);
  const auto tested = run(job, with_tested_graphs(how));
  expect_same_runs(without, tested);
  EXPECT_EQ(tested.graphs->steps_launched, kManySteps - 2);
  EXPECT_EQ(tested.graphs->reason, "");
  how.make_device = factory<ForgetfulDevice>();
  const auto forgetful = run(job, with_tested_graphs(how));
  expect_same_runs(without, forgetful);
  EXPECT_EQ(forgetful.graphs->steps_launched, 0);
  EXPECT_EQ(forgetful.graphs->reason,
            "graphs did not pass their test: a small one gives 4 where 3 is right");
  how.make_device = factory<UncapturableDevice>();
  const auto uncapturable = run(job, with_tested_graphs(how));
  expect_same_runs(without, uncapturable);
  EXPECT_EQ(uncapturable.graphs->reason, "graphs did not pass their test: refused");
}

// All ranks or none, here because of what rank 1 cannot capture.
TEST(CudaGraphs, RanksAgreeWhetherTheyPassTheirTest) {
  const executor::cuda::HostGpus host_gpus(2);
  if (!library().nccl_version()) GTEST_SKIP() << "there is no NCCL";
  if (library().devices()->size() < 2) GTEST_SKIP() << "there is one GPU";
  Job job = plain_job();
  auto two = make_job(job.model, job.plan, "plan.toml", 2);
  ASSERT_TRUE(two);
  two->own_device = two->device = job.device;
  RunOptions how = over_nccl({.steps = kManySteps});
  const auto without = run(*two, how);
  const auto tested = run(*two, with_tested_graphs(how));
  expect_same_runs(without, tested);
  EXPECT_EQ(tested.graphs->steps_launched, kManySteps - 2);
  how.make_device = [](executor::RunControl& control, int rank, std::span<const StreamInfo> streams,
                       int /*threads*/) -> std::unique_ptr<executor::Device> {
    if (rank == 1) return std::make_unique<UncapturableDevice>(control, rank, streams, rank);
    return library().make_device(control, rank, rank, streams, {});
  };
  const auto uncapturable = run(*two, with_tested_graphs(how));
  expect_same_runs(without, uncapturable);
  EXPECT_EQ(uncapturable.graphs->steps_launched, 0);
  EXPECT_EQ(uncapturable.graphs->reason, "graphs of another rank did not pass their test");
}

}  // namespace
}  // namespace foreshard
