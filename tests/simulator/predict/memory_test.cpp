#include "simulator/predict/memory.hpp"

#include <gtest/gtest.h>

#include "models/program/oom_report.hpp"
#include "tests/simulator/small_program.hpp"

namespace foreshard::simulator {
namespace {

// Adds buffers to a small program and takes care of their numbers.
class MemoryProgram : public SmallProgram {
 public:
  BufferId buffer(std::int64_t bytes, Category category = Category::activations,
                  bool on_host = false) {
    Buffer b;
    b.bytes = bytes;
    b.category = category;
    b.on_host = on_host;
    program.buffers.push_back(b);
    return static_cast<BufferId>(program.buffers.size()) - 1;
  }
  void alloc(BufferId b) { add(Kind::alloc, b); }
  void free(BufferId b) { add(Kind::free, b); }
  void add(Kind kind, BufferId b) {
    Instruction i;
    i.kind = kind;
    i.target = b;
    i.phase = phase;
    i.unit = 0;
    step().instructions.push_back(i);
  }
  Phase phase = Phase::forward;
};

RankMemory run(const MemoryProgram& p, std::int64_t steps = 1,
               std::optional<std::int64_t> capacity = {}) {
  MemoryOptions options;
  options.steps = steps;
  options.capacity = capacity;
  return simulate_memory(p.program, AllocatorSettings{}, options);
}

TEST(Memory, CountsWholeBlocksAndSegments) {
  // 1,000 B take a block of 1,024 from a segment of 2 MiB; 1.5 MiB one of a segment of 20 MiB.
  MemoryProgram p;
  const BufferId a = p.buffer(1000), b = p.buffer(3 * kMib / 2);
  p.alloc(a), p.alloc(b), p.free(a), p.free(b);
  const RankMemory memory = run(p);
  EXPECT_EQ(memory.run.allocated, 1024 + 3 * kMib / 2);
  EXPECT_EQ(memory.run.reserved, 22 * kMib);
}

TEST(Memory, SegmentsDelayTheStepThatTakesThemUnlessItStandsForOthers) {
  // Step 1 takes a segment, and step 2 finds it.
  MemoryProgram p;
  const BufferId a = p.buffer(20 * kMib);
  p.alloc(a), p.free(a);
  const std::vector<HostDelay> delays = run(p, 2).delays;
  ASSERT_EQ(delays.size(), 1);
  EXPECT_EQ(delays[0].step, 1);
  EXPECT_TRUE(run(p, 1).delays.empty());
}

TEST(Memory, PeaksOfAStepStartAtWhatIsStillHeld) {
  // Step 1 keeps 4 MiB and briefly holds 10; the steady step only holds another 2.
  MemoryProgram p;
  const BufferId kept = p.buffer(4 * kMib), brief = p.buffer(6 * kMib), small = p.buffer(2 * kMib);
  p.alloc(kept), p.alloc(brief), p.free(brief);
  Instruction alloc;
  alloc.target = small;
  Instruction free = alloc;
  free.kind = Kind::free;
  p.program.programs[2].instructions = {alloc, free};
  const RankMemory memory = run(p, 3);
  ASSERT_EQ(memory.steps.size(), 3);
  EXPECT_EQ(memory.steps[0].allocated, 10 * kMib);
  EXPECT_EQ(memory.steps[1].allocated, 6 * kMib);
  EXPECT_EQ(memory.steps[2], memory.steps[1]);
  EXPECT_EQ(memory.run.allocated, 10 * kMib);
}

TEST(Memory, NamesWhatHeldThePeak) {
  MemoryProgram p;
  const BufferId a = p.buffer(2 * kMib, Category::parameters),
                 b = p.buffer(3 * kMib, Category::gradients);
  p.alloc(a);
  p.phase = Phase::backward;
  p.alloc(b), p.free(b);
  const RankMemory memory = run(p);
  EXPECT_EQ(memory.peak.phase, Phase::backward);
  EXPECT_EQ(memory.peak.instruction, 1);
  EXPECT_EQ(memory.peak.by_category[static_cast<std::size_t>(Category::parameters)], 2 * kMib);
  EXPECT_EQ(memory.peak.by_category[static_cast<std::size_t>(Category::gradients)], 3 * kMib);
}

TEST(Memory, HostBuffersCountInSteps64) {
  MemoryProgram p;
  const BufferId a = p.buffer(65, Category::inputs, true), b = p.buffer(64, Category::inputs, true);
  p.alloc(a), p.alloc(b), p.free(a);
  const RankMemory memory = run(p);
  EXPECT_EQ(memory.peak_host, 128 + 64);
  EXPECT_EQ(memory.run.allocated, 0);
}

TEST(Memory, EmptyBuffersTakeNothing) {
  MemoryProgram p;
  const BufferId a = p.buffer(0);
  p.alloc(a), p.free(a);
  EXPECT_EQ(run(p).run, MemoryPeaks{});
}

TEST(Memory, StopsAtTheRequestThatDoesNotFit) {
  // 30 MiB of device: 20 fit, another 12 do not even after everything unused went back.
  MemoryProgram p;
  const BufferId a = p.buffer(20 * kMib), b = p.buffer(12 * kMib);
  p.alloc(a), p.alloc(b);
  p.program.units.push_back({"model.layers.0", {}, 0, 0, 0});
  const RankMemory memory = run(p, 1, 30 * kMib);
  ASSERT_TRUE(memory.failure);
  EXPECT_EQ(memory.failure->step, 1);
  EXPECT_EQ(memory.failure->instruction, 1);
  EXPECT_EQ(memory.failure->requested, 12 * kMib);
  EXPECT_EQ(memory.failure->allocated, 20 * kMib);
  EXPECT_EQ(memory.failure->reserved, 20 * kMib);
  EXPECT_FALSE(run(p, 1, 32 * kMib).failure);
}

TEST(Memory, AReleaseDrainsTheDevice) {
  // 20 MiB are cached but of no use for 24 MiB; on 40 MiB they go back first.
  MemoryProgram p;
  const BufferId a = p.buffer(20 * kMib), b = p.buffer(24 * kMib);
  p.alloc(a), p.free(a), p.alloc(b);
  MemoryOptions options;
  options.steps = 1;
  options.capacity = 40 * kMib;
  options.segment_alloc_ns = 10;
  options.segment_free_ns = 100;
  const RankMemory memory = simulate_memory(p.program, AllocatorSettings{}, options);
  ASSERT_FALSE(memory.failure);
  ASSERT_EQ(memory.delays.size(), 2);
  EXPECT_FALSE(memory.delays[0].drains);
  EXPECT_EQ(memory.delays[1].ns, 110);
  EXPECT_TRUE(memory.delays[1].drains);
}

TEST(Memory, AnotherRanksFailureEndsTheWalk) {
  MemoryProgram p;
  const BufferId a = p.buffer(2 * kMib), b = p.buffer(2 * kMib), c = p.buffer(2 * kMib);
  p.alloc(a), p.alloc(b), p.alloc(c);
  MemoryOptions options;
  options.stop = MemoryFailure{1, 1, 0, 0, 0};  // up to and with the second request
  const RankMemory memory = simulate_memory(p.program, AllocatorSettings{}, options);
  EXPECT_EQ(memory.run.allocated, 4 * kMib);
}

TEST(Memory, RecordsWhatTheAllocatorDid) {
  MemoryProgram p;
  const BufferId a = p.buffer(2 * kMib);
  p.alloc(a), p.free(a);
  MemoryOptions options;
  options.steps = 1;
  options.keeps_records = true;
  const auto records = simulate_memory(p.program, AllocatorSettings{}, options).records;
  ASSERT_EQ(records.size(), 4);  // segment, alloc, free requested, free completed
  EXPECT_EQ(records[0].event.action, AllocatorEvent::Action::segment_alloc);
  EXPECT_EQ(records[1].event.bytes, 2 * kMib);
  EXPECT_EQ(records[3].instruction, 1);
}

TEST(OomReport, NamesTheFirstUserOfTheBuffer) {
  MemoryProgram p;
  const BufferId a = p.buffer(8), b = p.buffer(8);
  p.phase = Phase::backward;
  p.alloc(a), p.alloc(b);
  p.program.units.push_back({"model.layers.7", {}, 0, 0, 0});
  p.program.cost_keys.push_back({});
  p.program.cost_keys.back().op = Operator::swiglu_backward;
  Instruction launch;
  launch.kind = Kind::launch;
  launch.cost_key = 0;
  launch.operands = 0;
  launch.reads = 1;
  launch.writes = 1;
  p.step().operands = {b, a};
  p.step().instructions.push_back(launch);
  const OomReport report = oom_report(p.program, 1, 0, 3, {8, 16, 32});
  EXPECT_EQ(report.operator_name, "swiglu_backward");
  EXPECT_EQ(to_json(report), R"({"step":1,"rank":3,"instruction":0,"operator":"swiglu_backward",)"
                             R"("unit":"model.layers.7","phase":"backward","requested_bytes":8,)"
                             R"("allocated_bytes":16,"reserved_bytes":32})");
  p.step().operands = {b, b};
  EXPECT_EQ(oom_report(p.program, 1, 0, 3, {}).operator_name, "");
}

}  // namespace
}  // namespace foreshard::simulator
