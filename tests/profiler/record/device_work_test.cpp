// What CUPTI reports of devices, in whatever order, becomes events of the instructions whose ids it has.
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

// Rank 0 has a program of two instructions, 0 and 1.
class DeviceWorkTest : public testing::Test {
 protected:
  DeviceWorkTest() {
    const std::int32_t lane = writer_.add(traces::Lane{0, true, writer_.strings().intern("gpu")});
    work_.add_program(0, {{.instruction = 0}, {.instruction = 1}}, {lane, lane});
  }

  traces::Trace trace() {
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
  EXPECT_EQ(all.events[0].instruction, 1);
  EXPECT_EQ(all.strings[all.events[0].name], "add(float*)");
}

// Whoever else pushes ids of the same kind may push any.
TEST_F(DeviceWorkTest, LeavesOutWhatIsOfNoInstruction) {
  std::uint32_t correlation = 0;
  for (const std::uint64_t other :
       {pack({1, 0, 1, 0}), pack({0, 1, 1, 0}), pack({0, 0, 1, 2}), ~std::uint64_t{0}}) {
    work_.take(std::vector{id(++correlation, other), kernel(correlation, 100)});
  }
  work_.take(std::vector{id(9, pack({0, 0, 1, 0})), kernel(9, 300)});
  const traces::Trace all = trace();
  ASSERT_EQ(all.events.size(), 1u);
  EXPECT_EQ(all.events[0].start_ns, 300);
}

}  // namespace
}  // namespace foreshard::profiler
