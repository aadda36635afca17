// What the allocator does not hold, against what was measured on devices.
#include "simulator/costs/outside_memory.hpp"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "simulator/costs/cost_model.hpp"
#include "tests/simulator/predict/h100.hpp"
#include "tests/simulator/small_program.hpp"

namespace foreshard::simulator {
namespace {

nlohmann::json measured(const std::string& device) {
  const std::string file = FORESHARD_SOURCE_DIR "/traces/samples/pytorch_gpu/" + device;
  return nlohmann::json::parse(std::ifstream(file + "/outside_allocator.json"))["outside_bytes"];
}

TEST(OutsideMemory, IsWhatAProcessWithOneCommunicatorTakes) {
  SmallProgram p;
  p.program.device.kind = DeviceKind::cuda;
  const NcclSystem nccl = nccl_system(h100());
  const OutsideMemory alone = outside_memory(nccl, p.program, counted_costs(p.program), 8);
  p.collective(kGather, 1);
  const OutsideMemory together = outside_memory(nccl, p.program, counted_costs(p.program), 8);
  for (const char* device : {"h100", "h200"}) {
    const auto values = measured(device);
    const auto bytes = [&](const char* state) { return values[state].get<std::int64_t>(); };
    EXPECT_EQ(alone.context, bytes("context"));
    EXPECT_EQ(alone.bytes(), bytes("cudnn convolution"));
    EXPECT_NEAR(static_cast<double>(together.bytes()),
                static_cast<double>(bytes("nccl reduce_scatter all_reduce")), 8 * kMib);
    EXPECT_LE(together.low, bytes("nccl reduce_scatter all_reduce"));
    EXPECT_GE(together.high, bytes("second nccl group"));
  }
}

}  // namespace
}  // namespace foreshard::simulator
