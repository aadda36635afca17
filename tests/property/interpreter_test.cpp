// What the interpreter makes of single instructions, in programs made by hand.
#include "executor/run/interpreter.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "executor/cpu/cpu_device.hpp"

namespace foreshard::executor {
namespace {

// Remembers on which thread an optimizer's state was restored.
class Restorer final : public HostWork {
 public:
  void initialize_shard(const ParameterShard&, DType, std::span<std::byte>) override {}
  void load_batch(std::int64_t, int, std::span<std::int32_t>, std::span<std::int32_t>) override {}
  bool has_state(BufferId) const override { return true; }
  void restore_state(BufferId, std::span<std::byte> bytes) override {
    thread = std::this_thread::get_id();
    std::ranges::fill(bytes, std::byte{7});
  }
  void take_gradient(const UnitLayout&, DType, std::span<const std::byte>) override {}
  bool wants_gradients(std::int64_t) const override { return false; }

  std::thread::id thread;
};

class HandMadeProgram : public testing::Test {
 protected:
  HandMadeProgram() {
    Buffer state;
    state.bytes = 64;
    state.persistent = true;
    state.category = Category::optimizer_states;
    program_.buffers = {state};
    program_.names = {""};
    program_.place.groups[0] = {};
  }

  Instruction& add(Kind kind, std::int32_t target) {
    Instruction& i = program_.setup.instructions.emplace_back();
    i.kind = kind;
    i.target = target;
    return i;
  }

  RankProgram program_;
  RunControl run_{1};
  OutOfMemoryAgreement agreement_{1};
  Restorer host_;
  CpuDevice device_{run_, 0};
  const RankParts parts_{program_, device_, run_, agreement_, host_};
};

TEST_F(HandMadeProgram, ADeferredFreeIsRefusedNotIgnored) {
  add(Kind::alloc, 0);
  add(Kind::record_stream, 0);
  Interpreter interpreter(parts_, {});
  EXPECT_THROW(interpreter.run(0, program_.setup, {}), std::logic_error);
}

// The stream itself puts the state where zeros would go, so the first step waits for nothing that
// its program does not name.
TEST_F(HandMadeProgram, AStateIsRestoredByItsStream) {
  program_.cost_keys = {{Operator::fill_zero, DType::fp32, DType::fp32, DType::fp32, {64}}};
  program_.setup.operands = {0};
  add(Kind::alloc, 0);
  Instruction& fill = add(Kind::launch, kNone);
  fill.cost_key = 0;
  fill.writes = 1;
  Interpreter interpreter(parts_, {});
  interpreter.run(0, program_.setup, {});
  device_.synchronize();
  EXPECT_NE(host_.thread, std::thread::id());
  EXPECT_NE(host_.thread, std::this_thread::get_id());
  EXPECT_EQ(interpreter.memory().bytes(0)[5], std::byte{7});
}

}  // namespace
}  // namespace foreshard::executor
