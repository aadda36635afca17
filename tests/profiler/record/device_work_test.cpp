// What CUPTI reports of devices, in whatever order, becomes events of the instructions whose ids it
// has.
#include "profiler/record/device_work.hpp"

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"

namespace foreshard::profiler {
namespace {

Activity kernel(std::uint32_t correlation, std::int64_t start) {
  Activity a;
  a.kind = ActivityKind::kernel;
  a.correlation = correlation;
  a.start_ns = start;
  a.end_ns = start + 10;
  a.name = "_Z3addPf";
  return a;
}

Activity id(std::uint32_t correlation, std::uint64_t id) {
  Activity a;
  a.kind = ActivityKind::external_id;
  a.correlation = correlation;
  a.id = id;
  return a;
}

Activity allocation(std::uint32_t correlation, std::int64_t time, std::uint64_t address,
                    std::uint32_t operation = 1) {
  Activity a;
  a.kind = ActivityKind::allocation;
  a.detail = operation;
  a.to_memory = 3;
  a.correlation = correlation;
  a.start_ns = a.end_ns = time;
  a.id = address;
  a.bytes = 1000;
  return a;
}

// Rank 0 has a program of three instructions, the last of which allocates.
class DeviceWorkTest : public testing::Test {
 protected:
  DeviceWorkTest() {
    const std::int32_t lane = writer_.add(traces::Lane{0, true, writer_.strings().intern("gpu")});
    work_.add_program(
        0, {std::vector<traces::EventAttributes>(3), {lane, lane, lane}, {false, false, true}});
  }

  traces::Trace trace() {
    work_.finish();
    work_.write(writer_, 0);
    EXPECT_TRUE(writer_.close(work_.written_until()));
    return traces::read_fst(path_).value();
  }

  const tests::TemporaryFolder folder_;
  const std::string path_ = folder_.path("run.fst");
  traces::FstWriter writer_ = traces::FstWriter::create(path_, {}).value();
  DeviceWork work_;
};

TEST_F(DeviceWorkTest, WaitsForIdsThatComeLater) {
  work_.take(std::vector{kernel(7, 100), kernel(8, 200)});
  work_.write(writer_, 0);
  work_.take(std::vector{id(8, pack({0, 0, 3, 1}))});
  const traces::Trace all = trace();
  ASSERT_EQ(all.events.size(), 1u);
  EXPECT_EQ(all.events[0].start_ns, 200);
  EXPECT_EQ(all.events[0].step, 3);
  EXPECT_EQ(all.strings[all.events[0].name], "add(float*)");
}

// Whoever else pushes ids of the same kind may push any.
TEST_F(DeviceWorkTest, LeavesOutWhatIsOfNoInstruction) {
  std::uint32_t correlation = 0;
  for (const std::uint64_t other :
       {pack({1, 0, 1, 0}), pack({0, 1, 1, 0}), pack({0, 0, 1, 3}), ~std::uint64_t{0}}) {
    work_.take(std::vector{id(++correlation, other), kernel(correlation, 100)});
  }
  work_.take(std::vector{id(9, pack({0, 0, 1, 0})), kernel(9, 300)});
  const traces::Trace all = trace();
  ASSERT_EQ(all.events.size(), 1u);
  EXPECT_EQ(all.events[0].start_ns, 300);
}

// In whatever order they come, those of the caching allocator are left out.
TEST_F(DeviceWorkTest, RecordsMemoryOutsideTheAllocator) {
  work_.take(std::vector{allocation(3, 300, 0xB000, 2), allocation(1, 100, 0xA000)});
  work_.take(std::vector{allocation(2, 200, 0xB000), id(1, pack({0, 0, 1, 2}))});
  work_.take(std::vector{id(2, pack({0, 0, 5, 1})), id(4, pack({0, 0, 6, 0})), kernel(4, 400)});
  const traces::Trace all = trace();
  ASSERT_EQ(all.memory.size(), 2u);
  const traces::MemoryEvent taken = all.memory[0], freed = all.memory[1];
  EXPECT_EQ(taken.action, traces::MemoryAction::outside_alloc);
  EXPECT_EQ(taken.time_ns, 200);
  EXPECT_EQ(taken.step, 5);
  EXPECT_EQ(taken.address, 0xB000);
  EXPECT_EQ(taken.bytes, 1000);
  EXPECT_EQ(all.strings[taken.category], "device memory outside the caching allocator");
  EXPECT_EQ(freed.action, traces::MemoryAction::outside_free);
  EXPECT_EQ(freed.time_ns, 300);
  EXPECT_EQ(freed.bytes, 1000);
}

// Such as what NCCL takes before the first instruction: of the rank that then uses the device.
TEST_F(DeviceWorkTest, MemoryOfNoInstructionIsOfTheDevicesRank) {
  work_.take(std::vector{allocation(1, 100, 0xA000)});
  work_.take(std::vector{kernel(2, 2'000'000'000)});  // long after: no id comes any more
  work_.write(writer_, 0);
  work_.take(std::vector{id(2, pack({0, 0, 1, 0}))});
  const traces::Trace all = trace();
  ASSERT_EQ(all.memory.size(), 1u);
  EXPECT_EQ(all.memory[0].rank, 0);
  EXPECT_EQ(all.memory[0].step, 0);
  EXPECT_EQ(all.memory[0].instruction, traces::kNone);
}

}  // namespace
}  // namespace foreshard::profiler
