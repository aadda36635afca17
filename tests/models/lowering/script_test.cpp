// Scripts say lifetimes as they are: operators of PyTorch whose temporaries interleave, gradients that
// are summed in a third buffer. And what tables of operators compile to.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/lowering/operators/foreshard.hpp"
#include "models/lowering/operators/operator_table.hpp"
#include "models/lowering/script/script_runner.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::lowering {
namespace {

using Lines = std::vector<std::string>;
using enum Action::Kind;

// A runtime that does nothing but list the hooks that fire and the gradients that it is given.
class RecordingRuntime final : public ShardingRuntime {
 public:
  explicit RecordingRuntime(Emitter& emit) : emit_(emit) {}

  void allocate_shards(const ModuleBuffers&) override {}
  void begin_step() override {}
  void begin_micro_step(bool) override {}
  void begin_evaluation() override {}
  void end_step() override {}
  void unshard_root_before_forward() override {}
  void pre_forward(UnitId unit) override { hook("pre_forward", unit); }
  void post_forward(UnitId unit, bool) override { hook("post_forward", unit); }
  void pre_backward(UnitId unit) override { hook("pre_backward", unit); }
  void post_backward(UnitId unit) override { hook("post_backward", unit); }
  void pre_forward_in_recompute(UnitId unit) override { hook("pre_recompute", unit); }
  void post_forward_in_recompute(UnitId unit) override { hook("post_recompute", unit); }
  void final_callback() override {}
  BufferId parameter(ParameterId) const override { return weight; }
  BufferId gradient(ParameterId) const override { return kNone; }
  void gradient_ready(ParameterId parameter, BufferId gradient) override {
    ready.emplace_back(parameter, gradient);
  }
  void accumulate_gradients() override {}
  std::vector<OptimizerTensors> optimizer_tensors() const override { return {}; }
  ClippedGradients clipped_gradients() const override { return ClippedGradients::tensors; }
  void zero_gradients() override {}

  BufferId weight = kNone;
  std::vector<std::pair<ParameterId, BufferId>> ready;
  std::vector<std::pair<std::string, UnitId>> hooks;

 private:
  // A recorded event marks the hook's place in the program.
  void hook(const char* name, UnitId unit) {
    hooks.emplace_back(name, unit);
    emit_.record(Stream::all_gather);
  }

  Emitter& emit_;
};

// A model of one layer whose attention and MLP are units, and one segment: the block.
class Scripts : public testing::Test {
 protected:
  Scripts() {
    segment_.modules = {"self_attn", "mlp"};
    place_ = place(segment_, job_.tree, job_.tree.find("model.layers.0"));
    program_.programs.resize(1);
    emit_.begin(program_.programs[0]);
    runtime_.weight = emit_.declare({64, Category::unsharded_parameters, Role::unsharded});
  }

  static Job job() {
    Plan plan;
    plan.wrap.policy = WrapPolicy::modules;
    plan.wrap.modules = {{{"model.layers.*.self_attn"}}, {{"model.layers.*.mlp"}}};
    auto made = make_job(tests::small_llama({32, 48, 1, 2, 1, 64}), plan, "plan.toml", 2);
    if (!made) throw std::runtime_error(made.error().text());
    return *made;
  }

  Slot slot(std::int64_t bytes) {
    segment_.slots.push_back({bytes, Category::temporaries, Role::activation, {}});
    return static_cast<Slot>(segment_.slots.size() - 1);
  }
  static void launch(Script& script, Operator op, const std::vector<Slot>& reads,
                     const std::vector<Slot>& writes) {
    const auto operands = [](const std::vector<Slot>& slots) {
      std::vector<Operand> out;
      for (const Slot s : slots) out.push_back(Operand::of(s));
      return out;
    };
    script.launch({op, DType::fp32, DType::fp32, DType::fp32, {1}}, operands(reads),
                  operands(writes));
  }

  // "+SIZE" and "-SIZE" for allocations and frees, the operator's name for launches, "hook" for hooks.
  Lines run(Script& script, HookWalk::Mode mode = HookWalk::Mode::forward) {
    Segment bound = segment_;
    bound.forward = script;
    ScriptRunner::bind(bound, emit_);
    frame_ = {&segment_, &place_, std::vector<BufferId>(segment_.slots.size(), kNone)};
    for (const auto& [given, bytes] : given_) {
      frame_[given] = emit_.declare({bytes, Category::activations, Role::activation});
    }
    walk_.begin(mode);
    walk_.enter(place_.base);
    runtime_.hooks.clear();  // the root's
    const std::size_t before = program_.programs[0].instructions.size();
    runner_.run(frame_, bound.forward, walk_);
    return lines(before);
  }

  Lines lines(std::size_t from) const {
    Lines out;
    const Program& program = program_.programs[0];
    for (std::size_t n = from; n < program.instructions.size(); ++n) {
      const Instruction& i = program.instructions[n];
      if (i.kind == Kind::launch) {
        out.emplace_back(name(program_.cost_keys[static_cast<std::size_t>(i.cost_key)].op));
      } else if (i.kind == Kind::record_event) {
        out.emplace_back("hook");
      } else {
        out.push_back((i.kind == Kind::alloc ? "+" : "-") +
                      std::to_string(program_.buffers[static_cast<std::size_t>(i.target)].bytes));
      }
    }
    return out;
  }

  Job job_ = job();
  RankProgram program_;
  Emitter emit_{program_, job_.tree};
  RecordingRuntime runtime_{emit_};
  HookTable hooks_{job_};
  HookWalk walk_{hooks_, emit_, runtime_};
  ScriptRunner runner_{job_, emit_, runtime_};
  Segment segment_;
  Placement place_;
  Frame frame_;
  std::vector<std::pair<Slot, std::int64_t>> given_;
};

// transformers' rotate_half: x * cos + cat(-x2, x1) * sin. The first product lives through the making
// of the second, the negated half dies as soon as it has been concatenated, the sum before either
// product: no rule that frees after the last use in the order of operands makes this of the launches.
TEST_F(Scripts, AnOperatorOfPyTorchWithInterleavedTemporaries) {
  const Slot x = slot(1), product = slot(10), negated = slot(20), turned = slot(30),
             second = slot(40), sum = slot(50);
  given_ = {{x, 1}};
  Script rope;
  const auto makes = [&](Slot made, Operator op, const std::vector<Slot>& from) {
    rope.add(allocate, made);
    launch(rope, op, from, {made});
  };
  rope.add(enter, 0);
  makes(product, Operator::rope, {x});
  makes(negated, Operator::cast, {x});
  makes(turned, Operator::transpose, {negated, x});
  rope.add(free, negated);
  makes(second, Operator::rope, {turned});
  rope.add(free, turned);
  makes(sum, Operator::add, {product, second});
  rope.add(free, product);
  rope.add(free, second);
  EXPECT_EQ(run(rope), (Lines{"hook", "+10", "rope", "+20", "cast", "+30", "transpose", "-20",
                              "+40", "rope", "-30", "+50", "add", "-10", "-40"}));
  EXPECT_NE(frame_[sum], kNone);
  EXPECT_EQ(frame_[product], kNone);
}

// Two operators each make a gradient of one tensor; autograd adds them into a third buffer while both
// are alive, and the weight's gradient is handed over only after the operator's own frees.
TEST_F(Scripts, AGradientIsSummedInAThirdBuffer) {
  const Slot from_gate = slot(10), from_up = slot(11), sum = slot(12);
  const Slot weight = slot(20);
  segment_.modules = {"mlp.gate_proj"};
  place_ = place(segment_, job_.tree, job_.tree.find("model.layers.0"));
  segment_.slots[static_cast<std::size_t>(weight)].parameter = {0, 0};
  given_ = {{from_gate, 10}};
  Script backward;
  backward.add(enter, 0);
  backward.add(allocate, from_up);
  launch(backward, Operator::matmul_input_gradient, {}, {from_up});
  backward.add(allocate, weight);
  launch(backward, Operator::matmul_weight_gradient, {}, {weight});
  backward.add(allocate, sum);
  launch(backward, Operator::add, {from_gate, from_up}, {sum});
  backward.add(free, from_up);
  backward.add(free, from_gate);
  backward.add(gradient_ready, weight);
  EXPECT_EQ(run(backward, HookWalk::Mode::backward),
            (Lines{"hook", "+11", "matmul_input_gradient", "+20", "matmul_weight_gradient", "+12",
                   "add", "-11", "-10"}));
  const ParameterId gate =
      job_.tree.modules[static_cast<std::size_t>(job_.tree.find("model.layers.0.mlp.gate_proj"))]
          .parameters[0];
  ASSERT_EQ(runtime_.ready.size(), 1);
  EXPECT_EQ(runtime_.ready[0].first, gate);
  EXPECT_EQ(frame_[weight], kNone);
  const Buffer& handed = program_.buffers[static_cast<std::size_t>(runtime_.ready[0].second)];
  EXPECT_EQ(program_.name(handed.owner), "model.layers.0.mlp.gate_proj.weight");
}

// The input of a module may die after the module's hook, as transformers' does.
TEST_F(Scripts, AFreeFollowsTheHookOfTheModuleThatIsLeft) {
  const Slot input = slot(1);
  given_ = {{input, 7}};
  Script script;
  script.add(enter, 0);
  launch(script, Operator::add, {input}, {input});
  script.add(leave, 0);
  script.add(free, input);
  script.add(enter, 1);
  EXPECT_EQ(run(script), (Lines{"hook", "add", "hook", "-7", "hook"}));
  ASSERT_EQ(runtime_.hooks.size(), 3);
  EXPECT_EQ(runtime_.hooks[0].first, "pre_forward");
  EXPECT_EQ(runtime_.hooks[1].first, "post_forward");
  EXPECT_EQ(runtime_.hooks[1].second, runtime_.hooks[0].second);
  EXPECT_NE(runtime_.hooks[2].second, runtime_.hooks[0].second);
}

TEST_F(Scripts, ABufferOfOneStepIsAllocatedAgainInAnother) {
  const BufferId gradient =
      emit_.allocate({96, Category::gradients, Role::sharded_gradient, kNone, Stream::compute});
  emit_.free(gradient);
  emit_.allocate(gradient);
  EXPECT_EQ(lines(0), (Lines{"+96", "-96", "+96"}));
  EXPECT_EQ(program_.programs[0].instructions[2].target, gradient);
}

TEST(OperatorTable, ManyTensorsHaveNumbersOfTheirOwn) {
  OperatorTable table;
  table.modules = {""};
  Slot before = kNone;
  for (int n = 0; n < 40'000; ++n) {
    table.slots.push_back({n + 1, Category::activations, Role::activation, {}});
    const Slot made = static_cast<Slot>(n);
    Node node{
        {Operator::add, DType::fp32, DType::fp32, DType::fp32, {1}}, 0, {}, {Operand::of(made)}};
    if (before != kNone) node.reads = {Operand::of(before)};
    table.forward.push_back(node);
    before = made;
  }
  table.output = before;
  const Script script = compile(table).forward;
  const auto count = [&](Action::Kind kind) {
    return std::count_if(script.actions.begin(), script.actions.end(),
                         [kind](const Action& a) { return a.kind == kind; });
  };
  EXPECT_EQ(count(allocate), 40'000);
  EXPECT_EQ(count(free), 39'999);  // all but the output
}

std::vector<bool> written_by(const Segment& segment, const Script& script) {
  std::vector<bool> written(segment.slots.size());
  for (const Launch& launch : script.launches) {
    for (const Operand& o : script.writes(launch)) {
      if (o.kind == Operand::Kind::slot) written[static_cast<std::size_t>(o.slot)] = true;
    }
  }
  return written;
}

TEST(OperatorTable, RecomputationMakesWhatBackwardNeedsAndWritesNothingKept) {
  for (int words = 0; words < 8; ++words) {
    Plan plan;
    plan.checkpointing.mode = CheckpointMode::selective;
    plan.checkpointing.save_attention = (words & 1) != 0;
    plan.checkpointing.save_matmul = (words & 2) != 0;
    plan.checkpointing.save_every_second_matmul = (words & 4) != 0;
    const auto job = make_job(tests::small_llama({48, 56, 4, 4, 2, 96}), plan, "plan.toml", 2);
    ASSERT_TRUE(job) << job.error().text();
    const Segment block = foreshard_operators(*job).blocks.front();
    const std::vector<Slot> needed = kept_slots(block, block.forward);
    const std::vector<Slot> kept = kept_slots(block, block.checkpointed_forward);
    const std::vector<bool> again = written_by(block, block.recomputation);
    EXPECT_EQ(words == 0, kept.size() == 1) << "words " << words;  // the input alone
    for (const Slot slot : kept) {
      EXPECT_FALSE(again[static_cast<std::size_t>(slot)]) << "slot " << slot << ", words " << words;
    }
    for (const Slot slot : needed) {
      const bool is_kept = std::find(kept.begin(), kept.end(), slot) != kept.end();
      EXPECT_TRUE(is_kept || again[static_cast<std::size_t>(slot)])
          << "slot " << slot << ", words " << words;
    }
  }
}

}  // namespace
}  // namespace foreshard::lowering
