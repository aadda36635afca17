// What the interpreter makes of single instructions, in programs made by hand.
#include "executor/run/interpreter.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace foreshard::executor {
namespace {

// Remembers on which thread an optimizer's state was restored.
class Restorer final : public HostWork {
 public:
  void initialize_shards(const UnitLayout&, DType, std::span<const std::span<std::byte>>) override {
  }
  void load_batch(std::int64_t, int, std::span<std::int32_t>, std::span<std::int32_t>) override {}
  bool restore_state(BufferId, std::span<std::byte> bytes) override {
    thread = std::this_thread::get_id();
    std::ranges::fill(bytes, std::byte{7});
    return true;
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
    program_.programs.resize(1);
    program_.buffers = {state};
    program_.own_names = {""};
    program_.place.groups[0] = {};
  }

  Instruction& add(Kind kind, std::int32_t target) {
    Instruction& i = program_.programs[0].instructions.emplace_back();
    i.kind = kind;
    i.target = target;
    return i;
  }

  RankProgram program_;
  RunControl run_{1};
  OutOfMemoryAgreement agreement_{1};
  Restorer host_;
};

TEST_F(HandMadeProgram, ADeferredFreeIsRefusedNotIgnored) {
  add(Kind::alloc, 0);
  add(Kind::record_stream, 0);
  Interpreter interpreter(program_, {}, {}, run_, agreement_, host_, {}, nullptr, nullptr);
  EXPECT_THROW(interpreter.run(0, 0), std::logic_error);
}

// The stream itself puts the state where zeros would go, so the first step waits for nothing that
// its program does not name.
TEST_F(HandMadeProgram, AStateIsRestoredByItsStream) {
  program_.cost_keys = {{Operator::fill_zero, DType::fp32, DType::fp32, DType::fp32, {64}}};
  program_.programs[0].operands = {0};
  add(Kind::alloc, 0);
  Instruction& fill = add(Kind::launch, kNone);
  fill.cost_key = 0;
  fill.writes = 1;
  Interpreter interpreter(program_, {}, {}, run_, agreement_, host_, {}, nullptr, nullptr);
  interpreter.run(0, 0);
  interpreter.synchronize();
  EXPECT_NE(host_.thread, std::thread::id());
  EXPECT_NE(host_.thread, std::this_thread::get_id());
  EXPECT_EQ(interpreter.memory().bytes(0)[5], std::byte{7});
}

}  // namespace
}  // namespace foreshard::executor
