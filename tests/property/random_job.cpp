#include "tests/property/random_job.hpp"

#include <algorithm>

#include "models/sharding/job.hpp"

namespace foreshard::tests {

LlamaConfig JobDrawer::model() {
  LlamaConfig c;
  c.name = "random";
  c.kv_heads = integer(1, 3);
  c.heads = c.kv_heads * integer(1, 3);
  c.head_dim = 2 * integer(2, 12);
  c.hidden = chance(0.5) ? c.heads * c.head_dim : 8 * integer(2, 12);
  c.intermediate = integer(20, 200);
  c.layers = integer(1, 5);
  c.vocabulary = one_of<std::int64_t>({256, 257, 300, 997});
  c.context = 512;
  c.tied_embeddings = chance(0.25);
  c.attention_bias = c.output_bias = chance(0.2);
  c.mlp_bias = chance(0.2);
  if (chance(0.2)) {
    c.family = ModelFamily::qwen2;
    c.attention_bias = true;
    c.output_bias = c.mlp_bias = false;
  } else if (!c.attention_bias && !c.mlp_bias && chance(0.3)) {
    c.family = ModelFamily::mistral;
  }
  if (c.family != ModelFamily::llama && chance(0.7)) {
    c.sliding_window = integer(1, 40);
    if (c.family == ModelFamily::qwen2) c.first_window_layer = integer(0, c.layers);
  }
  return c;
}

void JobDrawer::draw_wrap(Plan& plan, const LlamaConfig& model) {
  WrapPlan& wrap = plan.wrap;
  wrap.policy = WrapPolicy::modules;
  const std::int64_t second = std::min<std::int64_t>(1, model.layers - 1);
  const auto layer = [](std::int64_t i, const char* part = "") {
    return "model.layers." + std::to_string(i) + part;
  };
  switch (integer(0, model.tied_embeddings ? 8 : 10)) {
    case 0: wrap.policy = WrapPolicy::transformer; break;
    case 1: wrap.policy = WrapPolicy::none; break;
    case 2: wrap.modules = {{{"model.layers.*.mlp"}}, {{"model.layers.*"}}}; break;
    case 3:
      wrap.modules = {{{"model.embed_tokens", "model.norm", "lm_head"}, true},
                      {{"model.layers.*.self_attn"}}};
      break;
    case 4:
      for (std::int64_t i = 0; i < model.layers; ++i) {
        if (chance(0.6)) wrap.modules.push_back({{layer(i)}});
      }
      break;
    case 5: wrap.modules = {{{"model.layers.*"}, true}}; break;
    case 6:  // across blocks
      wrap.modules = {{{layer(second, ".self_attn"), layer(0, ".mlp")}, true},
                      {{"model.layers.*"}}};
      break;
    case 7:
      wrap.modules = {{{"model.layers.*.self_attn.q_proj"}}, {{"model.layers.*.self_attn"}}};
      break;
    case 8: wrap.modules = {{{"model.norm", layer(0, ".mlp.gate_proj")}, true}}; break;
    case 9:
      wrap.policy = WrapPolicy::size;
      wrap.min_num_params = one_of<std::int64_t>({500, 5'000, 50'000});
      break;
    default:
      wrap.modules = {
          {{"model.embed_tokens"}}, {{"model.layers.*"}}, {{"model.norm", "lm_head"}, true}};
      if (chance(0.5)) plan.pytorch.keep_sharded_in_backward = {"model.embed_tokens"};
  }
}

void JobDrawer::draw_sharding(Plan& plan, int ranks) {
  using K = ReshardAfterForward::Kind;
  ShardingPlan& sharding = plan.sharding;
  sharding.reshard_after_forward.kind = one_of({K::automatic, K::yes, K::no});
  sharding.reshard_after_backward = one_of({When::every, When::last});
  sharding.shard_dim = chance(0.2) ? 1 : 0;
  if (chance(0.2)) sharding.keep_after_forward = {"model.layers.0"};
  if (ranks == 4 && chance(0.25)) sharding.reshard_after_forward = {K::group, 2};
  if (ranks == 4 && chance(0.25)) {
    sharding.strategy = one_of({Strategy::hybrid_shard, Strategy::hybrid_shard_zero2});
    sharding.shard_group = 2;
    sharding.reshard_after_forward = {one_of({K::automatic, K::yes, K::no}), 0};
    if (sharding.strategy == Strategy::hybrid_shard_zero2) {
      sharding.reshard_after_forward.kind = one_of({K::automatic, K::no});
    }
  } else if (chance(0.1)) {
    sharding.strategy = Strategy::no_shard;
    sharding.reshard_after_forward = {one_of({K::automatic, K::yes, K::no}), 0};
  } else if (chance(0.1)) {
    sharding.strategy = Strategy::shard_grad_op;
    sharding.reshard_after_forward = {K::automatic, 0};
  }
}

Plan JobDrawer::plan(const LlamaConfig& model, int ranks) {
  Plan p;
  p.batch = {integer(1, 3), one_of<std::int64_t>({7, 16, 33}), one_of<std::int64_t>({1, 1, 2, 3}),
             one_of({When::every, When::last}), one_of({When::every, When::last})};
  draw_wrap(p, model);
  draw_sharding(p, ranks);
  p.prefetch.forward = one_of<std::int64_t>({0, 0, 1, 2, 3});
  p.prefetch.backward = one_of<std::int64_t>({0, 0, 1, 2, 3});
  if (chance(0.2)) p.prefetch.backward.reset();
  p.prefetch.unshard_before_forward = chance(0.3);
  p.precision.param = one_of({DType::fp32, DType::bf16});
  p.precision.storage = chance(0.8) ? DType::fp32 : p.precision.param;
  p.precision.reduce = one_of({DType::fp32, DType::bf16});
  if (chance(0.3)) p.precision.reduce.reset();
  p.precision.optimizer_state = chance(0.8) ? DType::fp32 : DType::bf16;
  p.offload.parameters = chance(0.15);
  p.offload.optimizer = chance(0.15);
  p.offload.activations = chance(0.15);
  p.checkpointing.mode =
      one_of({CheckpointMode::none, CheckpointMode::none, CheckpointMode::full,
              CheckpointMode::every, CheckpointMode::selective, CheckpointMode::selective});
  p.checkpointing.every = integer(1, 3);
  if (chance(0.2)) p.checkpointing.fraction = one_of({0.0, 1.0 / 3, 0.5});
  p.checkpointing.save_attention = chance(0.5);
  p.checkpointing.save_matmul = !p.checkpointing.save_attention || chance(0.3);
  if (chance(0.3)) {
    p.checkpointing.save_matmul = false;
    p.checkpointing.save_every_second_matmul = true;
  }
  p.optimizer.name = chance(0.8) ? OptimizerName::adamw : OptimizerName::sgd;
  p.optimizer.clip_grad_norm = one_of({0.0, 1.0});
  p.allocator.expandable_segments = chance(0.2);
  if (chance(0.1)) p.allocator.max_split_size_mb = 32;
  if (chance(0.1)) p.allocator.roundup_power2_divisions = 4;
  if (chance(0.1)) p.allocator.garbage_collection_threshold = 0.6;
  p.pytorch.async_unshard = chance(0.15);
  if (chance(0.3)) {
    p.pytorch.implementation = one_of({ImplementationName::torchtitan, ImplementationName::transformers});
  }
  return p;
}

Job JobDrawer::draw() {
  const int ranks = static_cast<int>(integer(1, 4));
  const LlamaConfig drawn = model();
  auto job = make_job(drawn, plan(drawn, ranks), "random", ranks);
  if (!job) throw std::logic_error("the drawer made an impossible plan: " + job.error().text());
  return *job;
}

}  // namespace foreshard::tests
