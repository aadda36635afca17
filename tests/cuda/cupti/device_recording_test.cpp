// A device's work recorded through CUPTI: kernels, copies and fills of the emulated device become
// events of the instructions that launched them.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <cupti.h>
#include <gtest/gtest.h>

#include "executor/cuda/device/cuda_device.hpp"
#include "models/lowering/lower.hpp"
#include "profiler/record/recorder.hpp"
#include "tests/small_llama.hpp"
#include "tests/temporary_folder.hpp"
#include "traces/memory_tally.hpp"

extern "C" foreshard::profiler::ActivityRecorder* foreshard_make_activity_recorder();

namespace foreshard::profiler {
namespace {

using executor::KernelLaunch;
using executor::RunControl;
using executor::cuda::CudaDevice;
using tests::TemporaryFolder;

Job small_job() {
  Plan plan;
  plan.batch.micro_batch = 1;
  plan.batch.sequence = 16;
  auto job = make_job(tests::small_llama({32, 64, 2, 4, 4, 64}), plan, "plan.toml", 1);
  if (!job) throw std::runtime_error(job.error().text());
  return std::move(*job);
}

// A variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

class DeviceRecordingTest : public testing::Test {
 protected:
  DeviceRecordingTest() : program_(lower(job_, 0)) {}

  // For each instruction that launches: two kernels and a fill in place of its own.
  void run(RankRecorder& rank, std::int64_t step) {
    const std::size_t which = program_.number_of(step);
    const std::int64_t began = recorder_->now();
    const auto& instructions = program_.programs[which].instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const auto index = static_cast<std::int32_t>(i);
      if (takes_memory_ && instructions[i].kind == Kind::alloc) {
        rank.begin_issue(which, index, step);
        take_memory();
        rank.end_issue();
      }
      if (instructions[i].kind != Kind::launch) continue;
      const std::int64_t start = recorder_->now();
      rank.begin_issue(which, index, step);
      issue(instructions[i].stream);
      if (takes_memory_) take_memory();
      rank.end_issue();
      rank.host().event(which, index, step, start, recorder_->now());
      ++launches_;
    }
    device_.synchronize();
    rank.step(step, began, recorder_->now(), 4.0, 0.5);
  }

  void issue(Stream stream) {
    const CostKey key{Operator::add, DType::fp32, DType::fp32, DType::fp32, {100}};
    const std::span<const std::byte> reads[] = {std::as_bytes(std::span(x_))};
    const std::span<std::byte> writes[] = {std::as_writable_bytes(std::span(y_))};
    device_.launch(stream, 0, {key, reads, writes});
    device_.launch(stream, 0, {key, reads, writes});
    device_.fill(stream, 0, writes[0], std::byte{0});
  }

  static void take_memory() {
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, kTaken), cudaSuccess);
    ASSERT_EQ(cudaFree(memory), cudaSuccess);
  }

  traces::Trace record(std::int64_t steps) {
    const std::string path = folder_.path("run.fst");
    recorder_ = Recorder::create(path, {}).value();
    if (auto ok = recorder_->record_devices(*activities_); !ok) {
      throw std::runtime_error(ok.error().text());
    }
    RankRecorder& rank = recorder_->add_rank(0, program_, job_.tree);
    issue(Stream::compute);  // of no instruction
    device_.synchronize();
    for (std::int64_t step = 1; step <= steps; ++step) {
      run(rank, step);
      if (issues_between_steps_) issue(Stream::compute);
    }
    device_.synchronize();
    recorder_->close().value();
    return traces::read_fst(path).value();
  }

  TemporaryFolder folder_;
  const Job job_ = small_job();
  const RankProgram program_;
  RunControl run_{1};
  CudaDevice device_{run_, 0, 0, program_.streams};
  std::vector<float> x_ = std::vector<float>(100), y_ = std::vector<float>(100);
  std::unique_ptr<ActivityRecorder> activities_{foreshard_make_activity_recorder()};
  std::unique_ptr<Recorder> recorder_;
  std::int64_t launches_ = 0;
  static constexpr std::int64_t kTaken = 12345;
  bool takes_memory_ = false, issues_between_steps_ = false;
};

TEST_F(DeviceRecordingTest, EveryKernelIsAnEventOfItsInstruction) {
  const traces::Trace trace = record(4);
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<traces::Event>> work;
  std::map<std::pair<std::int32_t, std::int32_t>, traces::Event> issues;
  for (const traces::Event& e : trace.events) {
    const bool is_of_device = trace.lanes[static_cast<std::size_t>(e.lane)].device;
    if (is_of_device) work[{e.step, e.instruction}].push_back(e);
    if (!is_of_device) issues[{e.step, e.instruction}] = e;
  }
  ASSERT_EQ(std::ssize(issues), launches_);
  ASSERT_EQ(work.size(), issues.size());
  for (auto& [id, events] : work) {
    const traces::Event& issue = issues.at(id);
    ASSERT_EQ(events.size(), 3u);
    std::ranges::sort(events, {}, &traces::Event::start_ns);
    for (const traces::Event& e : events) {
      EXPECT_EQ(e.stable_key, issue.stable_key);
      EXPECT_EQ(e.cost_key, issue.cost_key);
      EXPECT_GE(e.start_ns, issue.start_ns);
      const auto step = std::ranges::find(trace.steps, e.step, &traces::Step::step);
      EXPECT_GE(e.start_ns, step->start_ns);
      EXPECT_LE(e.end_ns, step->end_ns);
    }
    EXPECT_TRUE(trace.strings[events[0].name].starts_with("kernel(long, float"))
        << trace.strings[events[0].name];
    EXPECT_EQ(trace.strings[events[2].name], "Memset");
  }
  EXPECT_TRUE(trace.dropped.empty());
}

TEST_F(DeviceRecordingTest, TimesCountFromTheTracesOrigin) {
  const traces::Trace trace = record(2);
  for (const traces::Event& e : trace.events) {
    EXPECT_GE(e.start_ns, 0);
    EXPECT_LE(e.end_ns, trace.complete_until_ns);
  }
}

// Every launch here takes memory that the caching allocator knows nothing of; every allocation by
// an instruction takes a segment that it does know.
TEST_F(DeviceRecordingTest, MemoryOutsideTheAllocatorIsRecorded) {
  takes_memory_ = true;
  const traces::Trace trace = record(2);
  std::vector<traces::MemoryEvent> outside;
  for (const traces::MemoryEvent& e : trace.memory) {
    EXPECT_TRUE(is_outside(e.action));
    if (e.action == traces::MemoryAction::outside_alloc) outside.push_back(e);
  }
  ASSERT_EQ(outside.size(), static_cast<std::size_t>(launches_));
  EXPECT_EQ(trace.memory.size(), 2 * outside.size());
  for (const traces::MemoryEvent& e : outside) {
    EXPECT_EQ(e.bytes, kTaken);
    const bool launches = program_.programs[program_.number_of(e.step)]
                              .instructions[static_cast<std::size_t>(e.instruction)]
                              .kind == Kind::launch;
    EXPECT_TRUE(launches);
  }
  traces::MemoryTally tally;
  std::int64_t most = 0;
  for (auto at = trace.memory.begin(); at != trace.memory.end(); ++at) {
    tally.apply(at);
    most = std::max(most, tally.levels().outside);
  }
  EXPECT_EQ(most, kTaken);
  EXPECT_EQ(tally.levels(), traces::MemoryLevels());
}

TEST_F(DeviceRecordingTest, LostRecordsAreCountedAndTimed) {
  const Variable drops("FORESHARD_HOST_CUPTI_DROPS", "10");
  const traces::Trace trace = record(4);
  const std::int64_t works = 3 * (launches_ + 1);
  ASSERT_EQ(trace.dropped.size(), 1u);
  EXPECT_EQ(trace.dropped.begin()->first, "records of GPUs that found no room in CUPTI's buffers");
  EXPECT_NEAR(static_cast<double>(trace.dropped.begin()->second), static_cast<double>(works) / 10,
              1.0);
  ASSERT_FALSE(trace.dropped_ranges.empty());
  std::int64_t lost = 0;
  for (const traces::DroppedRange& range : trace.dropped_ranges) {
    lost += range.records;
    EXPECT_LE(range.end_ns, trace.complete_until_ns);
  }
  EXPECT_EQ(lost, trace.dropped.begin()->second);
}

// What comes before the first instruction is the set-up of libraries.
TEST_F(DeviceRecordingTest, WorkThatHasNoInstructionIsCounted) {
  issues_between_steps_ = true;
  const traces::Trace trace = record(4);
  ASSERT_EQ(trace.dropped.size(), 1U);
  EXPECT_EQ(trace.dropped.begin()->first, "work of GPUs without the instruction that caused it");
  EXPECT_EQ(trace.dropped.begin()->second, 3 * 4);
}

TEST_F(DeviceRecordingTest, AnotherProfilerIsNamed) {
  const Variable taken("FORESHARD_HOST_CUPTI_TAKEN", "1");
  const auto recorder = Recorder::create(folder_.path("run.fst"), {}).value();
  const auto started = recorder->record_devices(*activities_);
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().text().find("another profiler already records this process"),
            std::string::npos)
      << started.error().text();
}

TEST_F(DeviceRecordingTest, WhatCuptiRefusesIsMissingAndSaidToBe) {
  const std::string pools = std::to_string(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
  const Variable refuses("FORESHARD_HOST_CUPTI_REFUSES", pools.c_str());
  const traces::Trace trace = record(2);
  EXPECT_FALSE(trace.events.empty());
  EXPECT_EQ(trace.metadata.at("not_recorded"),
            "memory pools are not recorded: CUPTI refuses them "
            "(an error of the host's CUPTI)");
  EXPECT_EQ(activities_->missing().size(), 1u);
}

// CUPTI asks for the time on threads of its own, also of what ends after the recording.
TEST_F(DeviceRecordingTest, TheClockOutlivesTheRecorder) {
  struct Gate {
    std::mutex mutex;
    static void pass(void* gate) { const std::scoped_lock lock(static_cast<Gate*>(gate)->mutex); }
  } gate;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, 0, 0), cudaSuccess);
  {
    const auto recorder = Recorder::create(folder_.path("run.fst"), {}).value();
    ASSERT_TRUE(recorder->record_devices(*activities_));
    gate.mutex.lock();
    ASSERT_EQ(cudaLaunchHostFunc(stream, Gate::pass, &gate), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(y_.data(), 0, 4, stream), cudaSuccess);
    recorder->close().value();
  }
  activities_.reset();
  gate.mutex.unlock();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(DeviceRecordingTest, ASecondRecordingOfTheProcessIsRefused) {
  const auto recorder = Recorder::create(folder_.path("run.fst"), {}).value(),
             second = Recorder::create(folder_.path("second.fst"), {}).value();
  ASSERT_TRUE(recorder->record_devices(*activities_));
  const std::unique_ptr<ActivityRecorder> other(foreshard_make_activity_recorder());
  const auto started = second->record_devices(*other);
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().text().find("expected one recording"), std::string::npos);
}

}  // namespace
}  // namespace foreshard::profiler
