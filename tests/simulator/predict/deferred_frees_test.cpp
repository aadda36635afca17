// Frees that record_stream defers: between which requests PyTorch's allocator completed each of them,
// with a device that is always ready and with one that is late, and the peaks of every step.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "simulator/predict/memory.hpp"
#include "simulator/predict/stream_progress.hpp"
#include "tests/models/lowering/recorded_cases.hpp"

namespace foreshard::simulator {
namespace {

// By allocation, counted from 0: how many there were when its free completed. Within one request the
// order of streams is a hash table's, and nothing depends on it.
using Completions = std::map<int, int>;

class Counting {
 public:
  void allocated(std::int64_t address) { number_[address] = count_++; }
  void completed(std::int64_t address) { completions[number_.at(address)] = count_; }
  // Those of the last request are not all there at a log's end.
  Completions settled(int count) const {
    Completions found = completions;
    std::erase_if(found, [count](const auto& c) { return c.first >= count || c.second >= count; });
    return found;
  }
  int count() const { return count_; }
  Completions completions;

 private:
  std::map<std::int64_t, int> number_;  // by address
  int count_ = 0;
};

Counting logged(const RecordedCase& c) {
  Counting counting;
  for (const auto& event : log_lines(c.log())) {
    const std::string action = event.value("action", "");
    if (action == "alloc") counting.allocated(event["addr"]);
    if (action == "free_completed") counting.completed(event["addr"]);
  }
  return counting;
}

Counting predicted(const RankMemory& memory) {
  Counting counting;
  for (const MemoryRecord& record : memory.records) {
    if (record.on_host) continue;
    const auto address = static_cast<std::int64_t>(record.event.address);
    if (record.event.action == AllocatorEvent::Action::alloc) counting.allocated(address);
    if (record.event.action == AllocatorEvent::Action::free_completed) counting.completed(address);
  }
  return counting;
}

// The recorded loop reads no loss at a step's end, where the program waits for it.
void leave_out_last_waits(RankProgram& program) {
  for (std::size_t n = 1; n < program.programs.size(); ++n) {
    auto& instructions = program.programs[n].instructions;
    const auto last = std::find_if(instructions.rbegin(), instructions.rend(),
                                   [](const Instruction& i) { return i.kind == Kind::host_wait; });
    ASSERT_EQ(last->phase, Phase::report);
    instructions.erase(last.base() - 1);
  }
}

class DeferredFrees : public testing::TestWithParam<RecordedCase> {};

TEST_P(DeferredFrees, CompleteWhenPyTorchsDo) {
  const RecordedCase& c = GetParam();
  const auto model = load_llama_config(c.config.string());
  const auto plan = parse_plan(c.plan(), c.id);
  ASSERT_TRUE(model && plan);
  const auto job = make_job(*model, *plan, c.id, c.ranks);
  ASSERT_TRUE(job) << job.error().text();
  MemoryOptions options;
  options.steps = c.steps;
  options.keeps_records = true;
  options.gpu_timing = plan->pytorch.gpu_timing;
  RankProgram program = lower(*job, c.rank);
  leave_out_last_waits(program);
  const RankMemory memory = simulate_memory(program, allocator_rules(*plan), options);
  const Counting pytorch = logged(c);
  EXPECT_GT(pytorch.completions.size(), 100U);
  EXPECT_EQ(predicted(memory).settled(pytorch.count()), pytorch.settled(pytorch.count()));
  const auto header = log_lines(c.log()).front();
  for (const auto& step : header["steps"]) {
    const MemoryPeaks& peaks = memory.steps.at(step["step"].get<std::size_t>() - 1);
    EXPECT_EQ(peaks.active, step["peak_active"]);
    EXPECT_EQ(peaks.allocated, step["peak_allocated"]);
    EXPECT_EQ(peaks.reserved, step["peak_reserved"]);
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, DeferredFrees, testing::ValuesIn(recorded_cases("fsdp1")),
                         [](const auto& recorded) { return test_name(recorded.param); });

// Two streams: what stream 1 has recorded is reached when the host waits for stream 0, once that has
// waited for stream 1, and not before.
TEST(StreamProgress, OfALateDeviceFollowsTheHostsWaits) {
  Program program;
  program.events = 3;
  StreamProgress late(2, GpuTiming::late);
  late.begin_program(program);
  const std::int64_t freed = late.record(1);
  late.record(0, Stream{0});
  late.host_wait(0);
  EXPECT_FALSE(late.is_done(freed));
  late.record(1, Stream{1});
  late.wait(Stream{0}, 1);
  late.record(2, Stream{0});
  EXPECT_FALSE(late.is_done(freed));
  late.host_wait(2);
  EXPECT_TRUE(late.is_done(freed));
  const std::int64_t later = late.record(1);
  EXPECT_FALSE(late.is_done(later));
  late.wait(later);
  EXPECT_TRUE(late.is_done(later));
}

TEST(StreamProgress, OfAReadyDeviceHasReachedEverything) {
  StreamProgress ready(2, GpuTiming::ready);
  EXPECT_TRUE(ready.is_done(ready.record(1)));
}

}  // namespace
}  // namespace foreshard::simulator
