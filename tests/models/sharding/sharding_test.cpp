// Where units begin and how their parameters are cut: globs, families of models, PyTorch's size
// rule, places of ranks and shards, with the arithmetic beside each expectation.
#include <gtest/gtest.h>

#include "models/program/step_program.hpp"
#include "models/sharding/job.hpp"
#include "models/sharding/units.hpp"
#include "tests/small_llama.hpp"

namespace foreshard {
namespace {

using Names = std::vector<std::string>;

TEST(Globs, StarsStayInsideOneComponent) {
  EXPECT_TRUE(glob_matches("model.layers.*", "model.layers.12"));
  EXPECT_FALSE(glob_matches("model.layers.*", "model.layers.12.mlp"));
  EXPECT_FALSE(glob_matches("model.layers.*", "model.layers"));
  EXPECT_TRUE(glob_matches("model.layers.*.mlp", "model.layers.0.mlp"));
  EXPECT_TRUE(glob_matches("*.layers.?", "model.layers.7"));
  EXPECT_FALSE(glob_matches("*.layers.?", "model.layers.17"));
  EXPECT_FALSE(glob_matches("model?layers", "model.layers"));
  EXPECT_TRUE(glob_matches("lm_*d", "lm_head"));
  EXPECT_TRUE(glob_matches("*a*b*", "xxaxxbb"));
  EXPECT_FALSE(glob_matches("*a*b", "xxaxx"));
  EXPECT_FALSE(glob_matches("", "lm_head"));
  EXPECT_FALSE(glob_matches("lm_head", "lm_head2"));
}

// D = 8, F = 16, two heads of 4, one key and value head, V = 20, 2 layers. Elements: embedding and
// head 160; q and o 64, k and v 32: attention 192; gate, up and down 128: mlp 384; norms 8 each: a
// block 592.
LlamaConfig tiny() {
  return tests::small_llama({8, 16, 2, 2, 1, 20});
}

Names units_of_size(std::int64_t least,
                    ImplementationName implementation = ImplementationName::transformers) {
  Plan plan;
  plan.wrap.policy = WrapPolicy::size;
  plan.wrap.min_num_params = least;
  plan.pytorch.implementation = implementation;
  const auto job = make_job(tiny(), plan, "plan.toml", 2);
  EXPECT_TRUE(job) << job.error().text();
  Names names;
  for (const Unit& unit : job->units) names.push_back(unit.name);
  return names;
}

LlamaConfig tiny_of(ModelFamily family) {
  LlamaConfig model = tiny();
  model.name = "tiny";
  model.family = family;
  return model;
}

TEST(Families, BlocksAreWrappedByTheirOwnClassOrLlamas) {
  const LlamaConfig qwen2 = tiny_of(ModelFamily::qwen2);
  Plan plan;
  const auto wrapped = make_job(qwen2, plan, "plan.toml", 2);
  ASSERT_TRUE(wrapped) << wrapped.error().text();
  EXPECT_EQ(wrapped->units.size(), 3u);
  plan.wrap.layer_class = {"Qwen2DecoderLayer"};
  const auto by_own_class = make_job(qwen2, plan, "plan.toml", 2);
  ASSERT_TRUE(by_own_class) << by_own_class.error().text();
  EXPECT_EQ(by_own_class->units.size(), wrapped->units.size());
  EXPECT_FALSE(make_job(tiny(), plan, "plan.toml", 2));
}

TEST(Families, WhatTheOperatorsDoNotComputeIsRefused) {
  Plan plan;
  const auto refusal = [&](const LlamaConfig& model) {
    const auto job = make_job(model, plan, "plan.toml", 2);
    return job ? "" : job.error().text();
  };
  EXPECT_EQ(refusal(tiny_of(ModelFamily::qwen3)),
            "plan.toml: operators: \"foreshard\" have no norms of queries and keys, which model "
            "'tiny' has; expected \"pytorch-eager\", or a model without");
  LlamaConfig stretched = tiny_of(ModelFamily::qwen2);
  stretched.rope_scaling.kind = RopeScaling::Kind::linear;
  EXPECT_EQ(refusal(stretched), "");
  stretched.rope_scaling.kind = RopeScaling::Kind::yarn;
  EXPECT_EQ(
      refusal(stretched),
      "plan.toml: operators: \"foreshard\" have no rotary embeddings of type yarn, which model "
      "'tiny' has; expected \"pytorch-eager\"");
  plan.operators = OperatorSetName::pytorch_eager;
  EXPECT_EQ(refusal(stretched), "");
  EXPECT_EQ(refusal(tiny_of(ModelFamily::qwen3)),
            "plan.toml: pytorch.implementation: torchtitan's blocks have no norms of queries and "
            "keys, which model 'tiny' has; expected \"transformers\"");
  plan.pytorch.implementation = ImplementationName::transformers;
  EXPECT_EQ(refusal(tiny_of(ModelFamily::qwen3)), "");
}

TEST(Families, AWindowShorterThanTheSequenceIsWarnedOf) {
  LlamaConfig mistral = tiny_of(ModelFamily::mistral);
  mistral.sliding_window = 64;
  Plan plan;
  plan.batch.sequence = 65;
  EXPECT_EQ(make_job(mistral, plan, "plan.toml", 2)->warnings, Names{});
  plan.operators = OperatorSetName::pytorch_eager;
  plan.pytorch.implementation = ImplementationName::torchtitan;
  plan.batch.sequence = 64;
  EXPECT_EQ(make_job(mistral, plan, "plan.toml", 2)->warnings, Names{});
  plan.batch.sequence = 65;
  EXPECT_EQ(
      make_job(mistral, plan, "plan.toml", 2)->warnings,
      Names{"batch.sequence: 65 exceeds the model's sliding_window, 64; attention is described "
            "without the window"});
}

TEST(SizePolicy, WrapsWhatIsLeftOfAModuleOnceItsChildrenHaveTaken) {
  EXPECT_EQ(units_of_size(5000), Names{""});
  // Blocks of 592 reach 500. The model's rest (160 + 8 of 1352) does not; the root takes it.
  EXPECT_EQ(units_of_size(500), (Names{"", "model.layers.0", "model.layers.1"}));
  // Of a block mlp (384) is wrapped, and 208 are left; the model has 1352 - 768 = 584 left.
  EXPECT_EQ(units_of_size(300), (Names{"", "model", "model.layers.0.mlp", "model.layers.1.mlp"}));
  // torchtitan has no such container: what is left falls to the root.
  EXPECT_EQ(units_of_size(300, ImplementationName::torchtitan),
            (Names{"", "model.layers.0.mlp", "model.layers.1.mlp"}));
  // The list of layers (1184) would reach 600, but a list is never wrapped; the model is.
  EXPECT_EQ(units_of_size(600), (Names{"", "model"}));
}

Job job_of(const LlamaConfig& model, int ranks, const ShardingPlan& sharding) {
  Plan plan;
  plan.sharding = sharding;
  const auto job = make_job(model, plan, "plan.toml", ranks);
  EXPECT_TRUE(job) << job.error().text();
  return *job;
}

// 12 ranks in shard groups of 4: rank 6 is number 2 of the group that begins at rank 4, and number 1
// of the three that hold the same shard (2, 6, 10); groups of 2 keep parameters after forward.
TEST(Places, OfARankInEachOfItsGroups) {
  ShardingPlan sharding;
  sharding.strategy = Strategy::hybrid_shard;
  sharding.shard_group = 4;
  sharding.reshard_after_forward = {ReshardAfterForward::Kind::group, 2};
  const RankPlace place = place_of(job_of(tiny(), 12, sharding), 6);
  const auto expect = [&place](Group group, int size, int index, int first, int stride) {
    const auto& m = place[group];
    EXPECT_EQ(m.size, size) << static_cast<int>(group);
    EXPECT_EQ(m.index, index) << static_cast<int>(group);
    EXPECT_EQ(m.first_rank, first) << static_cast<int>(group);
    EXPECT_EQ(m.stride, stride) << static_cast<int>(group);
  };
  EXPECT_EQ(place.rank, 6);
  expect(Group::shard, 4, 2, 4, 1);
  expect(Group::replicate, 3, 1, 2, 4);
  expect(Group::post_forward, 2, 0, 6, 1);
  expect(Group::world, 12, 6, 0, 1);
}

const ParameterShard& shard_of(const std::vector<UnitLayout>& layouts, const Job& job,
                               const std::string& name) {
  for (const UnitLayout& unit : layouts) {
    for (const ParameterShard& p : unit.parameters) {
      if (job.tree.parameters[static_cast<std::size_t>(p.parameter)].name == name) return p;
    }
  }
  throw std::logic_error("no parameter " + name);
}

// The embedding has 20 rows of 8: over 3 ranks chunks of ceil(20/3) = 7 rows, the last has 6; over 7
// ranks chunks of 3, six ranks have 18, the last 2.
TEST(Shards, AreChunksOfRowsPaddedToTheLargest) {
  for (const auto& [ranks, rank, first, rows, padded_rows] :
       {std::tuple(3, 0, 0, 7, 7), std::tuple(3, 2, 14, 6, 7), std::tuple(7, 6, 18, 2, 3)}) {
    const Job job = job_of(tiny(), ranks, {});
    const auto layouts = unit_layouts(job, place_of(job, rank));
    const ParameterShard& p = shard_of(layouts, job, "model.embed_tokens.weight");
    EXPECT_EQ(p.first, first);
    EXPECT_EQ(p.local, rows * 8);
    EXPECT_EQ(p.padded, padded_rows * 8);
  }
  // A norm's 8 rows over 7 ranks: chunks of 2, ranks 4 to 6 have none.
  const Job job = job_of(tiny(), 7, {});
  const auto layouts = unit_layouts(job, place_of(job, 6));
  EXPECT_EQ(shard_of(layouts, job, "model.norm.weight").local, 0);
  EXPECT_EQ(shard_of(layouts, job, "model.norm.weight").padded, 2);
  // The root: embedding 3 rows of 8, norm 2, head 3 rows of 8, one after the other.
  EXPECT_EQ(shard_of(layouts, job, "model.norm.weight").offset, 24);
  EXPECT_EQ(shard_of(layouts, job, "lm_head.weight").offset, 26);
  EXPECT_EQ(layouts[0].padded, 50);
}

// Columns where they divide: 8 columns over 4 ranks, not over 3; vectors stay cut on rows.
TEST(Shards, OfColumnsWhereTheyDivide) {
  ShardingPlan columns;
  columns.shard_dim = 1;
  const Job four = job_of(tiny(), 4, columns);
  const auto layouts = unit_layouts(four, place_of(four, 3));
  const ParameterShard& p = shard_of(layouts, four, "lm_head.weight");
  EXPECT_EQ(p.shard_dim, 1);
  EXPECT_EQ(p.first, 6);
  EXPECT_EQ(p.local, 20 * 2);
  EXPECT_EQ(p.padded, 20 * 2);
  EXPECT_EQ(shard_of(layouts, four, "model.norm.weight").shard_dim, 0);
  const Job three = job_of(tiny(), 3, columns);
  EXPECT_EQ(shard_of(unit_layouts(three, place_of(three, 0)), three, "lm_head.weight").shard_dim,
            0);
}

}  // namespace
}  // namespace foreshard
