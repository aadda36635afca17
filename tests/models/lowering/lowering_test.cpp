// The lowering against the laws of step programs and the reference's worked example.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "tests/models/lowering/program_checks.hpp"
#include "tests/small_llama.hpp"

namespace foreshard {
namespace {

LlamaConfig small_model() {
  return tests::small_llama({128, 336, 2, 4, 1, 1000});
}

RankProgram lowered(const LlamaConfig& model, const Plan& plan, int ranks, int rank = 0) {
  auto job = make_job(model, plan, "plan.toml", ranks);
  EXPECT_TRUE(job) << (job ? "" : job.error().text());
  return lower(*job, rank);
}

// Each layer has its own window, and none where sequences do not reach beyond it.
TEST(Lowering, LayersAttendWithinTheirWindows) {
  LlamaConfig model = small_model();
  model.layers = 3;
  const auto windows = [&](ModelFamily family, std::int64_t window, std::int64_t first_layer) {
    model.family = family;
    model.attention_bias = family == ModelFamily::qwen2;
    model.sliding_window = window;
    model.first_window_layer = first_layer;
    Plan plan;
    plan.batch.sequence = 16;
    const RankProgram program = lowered(model, plan, 2);
    std::map<Operator, std::vector<std::int64_t>> found;
    for (const Instruction& i : program.programs[1].instructions) {
      if (i.cost_key == kNone) continue;
      const CostKey& key = program.cost_keys[static_cast<std::size_t>(i.cost_key)];
      if (is_attention(key.op)) found[key.op].push_back(key.dims[5]);
    }
    std::vector<std::int64_t>& backward = found[Operator::attention_backward];
    std::ranges::reverse(backward);
    EXPECT_EQ(found[Operator::attention], backward);
    return found[Operator::attention];
  };
  using Windows = std::vector<std::int64_t>;
  EXPECT_EQ(windows(ModelFamily::mistral, 5, 0), (Windows{5, 5, 5}));
  EXPECT_EQ(windows(ModelFamily::mistral, 15, 0), (Windows{15, 15, 15}));
  EXPECT_EQ(windows(ModelFamily::mistral, 16, 0), (Windows{0, 0, 0}));
  EXPECT_EQ(windows(ModelFamily::qwen2, 5, 2), (Windows{0, 0, 5}));
  EXPECT_EQ(windows(ModelFamily::qwen2, 5, 3), (Windows{0, 0, 0}));
}

TEST(Lowering, ObeysTheLawsUnderEveryPlanKey) {
  Plan base;
  base.batch = {2, 16, 1, When::every, When::every};
  std::vector<Plan> plans(1, base);
  const auto vary = [&](auto change) {
    Plan p = base;
    change(p);
    plans.push_back(p);
  };
  using K = ReshardAfterForward::Kind;
  vary([](Plan& p) { p.wrap.policy = WrapPolicy::none; });
  vary([](Plan& p) { p.sharding.reshard_after_forward = {K::no, 0}; });
  vary([](Plan& p) { p.sharding.reshard_after_forward = {K::yes, 0}; });
  vary([](Plan& p) { p.sharding.reshard_after_forward = {K::group, 2}; });
  vary([](Plan& p) { p.sharding.strategy = Strategy::no_shard; });
  vary([](Plan& p) {
    p.sharding.strategy = Strategy::hybrid_shard;
    p.sharding.shard_group = 2;
  });
  vary([](Plan& p) {
    p.prefetch.forward = 1;
    p.prefetch.backward = 1;
  });
  vary([](Plan& p) {
    p.prefetch.backward.reset();
    p.prefetch.unshard_before_forward = true;
  });
  vary([](Plan& p) { p.offload.parameters = true; });
  vary([](Plan& p) { p.offload.optimizer = true; });
  vary([](Plan& p) { p.offload.activations = true; });
  vary([](Plan& p) { p.checkpointing.mode = CheckpointMode::full; });
  vary([](Plan& p) { p.checkpointing.mode = CheckpointMode::every; });
  for (int saved = 0; saved < 8; ++saved) {
    if ((saved & 6) == 6) continue;  // all matrix products and every second one contradict
    vary([saved](Plan& p) {
      p.checkpointing.mode = CheckpointMode::selective;
      p.checkpointing.save_attention = saved & 1;
      p.checkpointing.save_matmul = saved & 2;
      p.checkpointing.save_every_second_matmul = saved & 4;
    });
  }
  vary([](Plan& p) {
    p.wrap.policy = WrapPolicy::size;
    p.wrap.min_num_params = 2000;
  });
  vary([](Plan& p) {
    p.wrap.policy = WrapPolicy::modules;
    p.wrap.modules = {{{"model.embed_tokens"}},
                      {{"model.layers.*.mlp"}},
                      {{"model.layers.*"}},
                      {{"model.norm", "lm_head"}, true}};
  });
  vary([](Plan& p) { p.precision.reduce.reset(); });
  vary([](Plan& p) { p.precision.param = DType::fp32; });
  vary([](Plan& p) { p.precision.storage = DType::bf16; });
  vary([](Plan& p) { p.optimizer.name = OptimizerName::sgd; });
  // Every plan crossed with accumulation, checkpointing and ranks.
  for (const Plan& p : plans) {
    for (const int ranks : {1, 2, 4}) {
      if (p.sharding.reshard_after_forward.kind == K::group && ranks == 1) continue;
      if (p.sharding.strategy == Strategy::hybrid_shard && ranks == 1) continue;
      for (const std::int64_t accumulation : {1, 3}) {
        for (const When sync : {When::every, When::last}) {
          for (const bool full : {false, true}) {
            Plan q = p;
            q.batch.accumulation = accumulation;
            q.batch.gradient_sync = sync;
            q.batch.all_reduce =
                sync == When::every && accumulation == 3 ? When::last : When::every;
            q.sharding.reshard_after_backward = sync;
            if (full) q.checkpointing.mode = CheckpointMode::full;
            const auto broken = tests::broken_laws(lowered(small_model(), q, ranks, ranks - 1));
            EXPECT_TRUE(broken.empty()) << broken.front() << "\n"
                                        << to_toml(q) << ranks << " ranks";
            if (!broken.empty()) return;
          }
        }
      }
    }
  }
}

// FSDP's own buffers in the reference's worked example (section 9.1): V=1000, D=128, F=336, query
// width 128, key and value width 32, two ranks, bf16 parameters, fp32 reduction and storage.
class WorkedExample : public testing::Test {
 protected:
  WorkedExample() : program_(lowered(small_model(), Plan{}, 2)) {}

  std::string role(BufferId id) const {
    const Buffer& b = program_.buffers[static_cast<std::size_t>(id)];
    return program_.name(b.role);
  }
  bool is_fsdp_buffer(BufferId id) const {
    const std::string r = role(id);
    return r == "flat cast" || r == "all-gather output" || r == "unsharded parameter" ||
           r == "gradient" || r == "reduce-scatter input" || r == "reduce-scatter output";
  }
  std::vector<std::int64_t> sizes(const std::string& of_role, UnitId unit) const {
    std::vector<std::int64_t> out;
    for (const Instruction& i : program_.programs[2].instructions) {
      const bool is_one = i.kind == Kind::alloc && role(i.target) == of_role &&
                          program_.buffers[static_cast<std::size_t>(i.target)].unit == unit;
      if (is_one) out.push_back(program_.buffers[static_cast<std::size_t>(i.target)].bytes);
    }
    return out;
  }

  RankProgram program_;
};

TEST_F(WorkedExample, BuffersHaveTheReferencesSizes) {
  using Sizes = std::vector<std::int64_t>;
  ASSERT_EQ(program_.units.size(), 3u);  // root, layer 0, layer 1
  EXPECT_EQ(program_.units[0].padded, 128'064);
  EXPECT_EQ(program_.units[1].padded, 85'120);
  // The root is gathered once, a layer in forward and again in backward.
  EXPECT_EQ(sizes("flat cast", 0), Sizes({256'128}));
  EXPECT_EQ(sizes("flat cast", 1), Sizes({170'240, 170'240}));
  EXPECT_EQ(sizes("all-gather output", 0), Sizes({512'256}));
  EXPECT_EQ(sizes("all-gather output", 1), Sizes({340'480, 340'480}));
  EXPECT_EQ(sizes("reduce-scatter input", 0), Sizes({1'024'512}));
  EXPECT_EQ(sizes("reduce-scatter input", 1), Sizes({680'960}));
  EXPECT_EQ(sizes("reduce-scatter output", 0), Sizes({512'256}));
  EXPECT_EQ(sizes("reduce-scatter output", 1), Sizes({340'480}));
  // q, k, v, o, gate, up, down, and the two norms, in group order; twice.
  const Sizes once = {32768, 8192, 8192, 32768, 86016, 86016, 86016, 256, 256};
  Sizes twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(sizes("unsharded parameter", 1), twice);
}

TEST_F(WorkedExample, PeaksOfFsdpsBuffersAreTheReferences) {
  std::int64_t now = 0, forward = 0, backward_blocks = 0, callback = 0;
  bool in_callback = false;
  for (const Instruction& i : program_.programs[2].instructions) {
    if (i.kind == Kind::range_begin || i.kind == Kind::range_end) {
      const bool is_callback = program_.name(i.target) == "FSDP::root_post_backward_callback";
      if (is_callback) in_callback = i.kind == Kind::range_begin;
    }
    if ((i.kind != Kind::alloc && i.kind != Kind::free) || !is_fsdp_buffer(i.target)) continue;
    const std::int64_t bytes = program_.buffers[static_cast<std::size_t>(i.target)].bytes;
    now += i.kind == Kind::alloc ? bytes : -bytes;
    std::int64_t& peak = i.phase == Phase::forward ? forward
                         : in_callback             ? callback
                                                   : backward_blocks;
    peak = std::max(peak, now);
  }
  EXPECT_EQ(forward, 1'705'472);
  EXPECT_EQ(backward_blocks, 2'470'912);
  EXPECT_EQ(callback, 2'473'728);
  EXPECT_EQ(now, 0) << "everything is given back at the end of a step";
}

// What the host issues between the first layer's copy-out and the second layer's (steps 6 to 9):
// the previous all-gather output is freed after the new copy-out, unsharded parameters after the
// layer's forward, and the next layer's buffers follow.
TEST_F(WorkedExample, ForwardFreesThePreviousGatherAfterTheNextCopyOut) {
  std::vector<std::string> story;
  for (const Instruction& i : program_.programs[2].instructions) {
    if (i.phase != Phase::forward) break;
    if (i.kind != Kind::alloc && i.kind != Kind::free) continue;
    if (!is_fsdp_buffer(i.target) || role(i.target) == "unsharded parameter") continue;
    const UnitId unit = program_.buffers[static_cast<std::size_t>(i.target)].unit;
    story.push_back((i.kind == Kind::alloc ? "+" : "-") + role(i.target) + " " +
                    std::to_string(unit));
  }
  const std::vector<std::string> expected = {
      "+flat cast 0",         "+all-gather output 0", "-flat cast 0",
      "+flat cast 1",         "+all-gather output 1", "-flat cast 1",
      "-all-gather output 0", "+flat cast 2",         "+all-gather output 2",
      "-flat cast 2",         "-all-gather output 1", "-all-gather output 2"};
  EXPECT_EQ(story, expected);
}

// Steps 12 to 27, requests of one kind in a row counted: the loss is done; units are 0 (root), 1 and
// 2 (layers). Gradients of a unit die after the copy into the input of its reduce-scatter, all but
// the last before the output is requested.
TEST_F(WorkedExample, BackwardReducesOneUnitBehindAndTheRootInTheCallback) {
  std::vector<std::pair<std::string, int>> story;
  bool is_backward = false;
  for (const Instruction& i : program_.programs[2].instructions) {
    is_backward |= i.phase == Phase::backward;
    if (!is_backward || (i.kind != Kind::alloc && i.kind != Kind::free)) continue;
    if (!is_fsdp_buffer(i.target)) continue;
    const UnitId unit = program_.buffers[static_cast<std::size_t>(i.target)].unit;
    const std::string event =
        (i.kind == Kind::alloc ? "+" : "-") + role(i.target) + " " + std::to_string(unit);
    if (story.empty() || story.back().first != event) story.emplace_back(event, 0);
    ++story.back().second;
  }
  const std::vector<std::pair<std::string, int>> expected = {
      {"+flat cast 2", 1},
      {"+all-gather output 2", 1},  // 12
      {"-flat cast 2", 1},
      {"+gradient 0", 2},  // 13: head and norm
      {"+unsharded parameter 2", 9},
      {"-all-gather output 2", 1},  // 14
      {"+flat cast 1", 1},
      {"+all-gather output 1", 1},  // 15
      {"-flat cast 1", 1},
      {"+gradient 2", 9},             // 16
      {"-unsharded parameter 2", 9},  // 17
      {"+reduce-scatter input 2", 1},
      {"-gradient 2", 8},  // 18
      {"+reduce-scatter output 2", 1},
      {"-gradient 2", 1},
      {"+unsharded parameter 1", 9},
      {"-all-gather output 1", 1},  // 19
      {"+gradient 1", 9},
      {"-unsharded parameter 1", 9},
      {"-reduce-scatter input 2", 1},
      {"+reduce-scatter input 1", 1},  // 20
      {"-gradient 1", 8},
      {"+reduce-scatter output 1", 1},
      {"-gradient 1", 1},
      {"+gradient 0", 1},  // 21: the embedding's
      {"-unsharded parameter 0", 3},
      {"-reduce-scatter input 1", 1},  // 22
      {"+reduce-scatter input 0", 1},
      {"-gradient 0", 2},
      {"+reduce-scatter output 0", 1},
      {"-gradient 0", 1},
      {"-reduce-scatter input 0", 1},  // 23
      {"-reduce-scatter output 1", 1},
      {"-reduce-scatter output 2", 1},  // 27
      {"-reduce-scatter output 0", 1}};
  EXPECT_EQ(story, expected);
}

}  // namespace
}  // namespace foreshard
