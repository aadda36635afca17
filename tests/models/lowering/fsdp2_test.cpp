// What FSDP2's runtime makes of a plan's rarer settings: the laws of step programs under each of them,
// and the rules that decide what is gathered, kept and prefetched.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "tests/models/lowering/program_checks.hpp"
#include "tests/small_llama.hpp"

namespace foreshard {
namespace {

using Names = std::vector<std::string>;

// Four layers: enough for lists and prefetches that reach over some of them.
LlamaConfig four_layers() {
  return tests::small_llama({48, 56, 4, 4, 2, 96});
}

Result<Job> made(const LlamaConfig& model, const std::string& toml, int ranks) {
  auto plan =
      parse_plan("batch = {micro_batch = 2, sequence = 8, accumulation = 1}\n" + toml, "plan.toml");
  if (!plan) return tl::unexpected(plan.error());
  return make_job(model, *plan, "plan.toml", ranks);
}

Job job_of(const std::string& toml, int ranks, const LlamaConfig& model = four_layers()) {
  auto job = made(model, toml, ranks);
  EXPECT_TRUE(job) << (job ? "" : job.error().text());
  return *job;
}

std::string modules(const std::string& list) {
  return "wrap = {policy = 'modules', modules = " + list + "}\n";
}

void expect_laws(Job job) {
  for (const std::int64_t accumulation : {1, 3}) {
    for (const When sync : {When::every, When::last}) {
      for (const CheckpointMode mode : {CheckpointMode::none, CheckpointMode::full}) {
        job.plan.batch.accumulation = accumulation;
        job.plan.batch.gradient_sync = job.plan.sharding.reshard_after_backward = sync;
        if (job.plan.checkpointing.mode != CheckpointMode::every) {
          job.plan.checkpointing.mode = mode;
        }
        const auto broken = tests::broken_laws(lower(job, job.ranks - 1));
        ASSERT_TRUE(broken.empty()) << broken.front() << "\n"
                                    << to_toml(job.plan) << job.ranks << " ranks";
      }
    }
  }
}

TEST(Fsdp2, ObeysTheLawsUnderItsRarerSettings) {
  const std::string prefetch = "prefetch = {forward = 2, backward = 2}\n";
  for (const std::string& plan :
       {std::string("sharding = {shard_dim = 1}\n"),
        std::string("sharding = {shard_dim = 1, reshard_after_forward = 2}\n"),
        std::string("sharding = {keep_after_forward = ['model.layers.1']}\n"),
        std::string("sharding = {strategy = 'shard_grad_op'}\n"),
        std::string("sharding = {strategy = 'hybrid_shard_zero2', shard_group = 2}\n"),
        std::string("sharding = {strategy = 'hybrid_shard', shard_group = 2, shard_dim = 1}\n"),
        std::string("sharding = {strategy = 'no_shard', reshard_after_forward = true}\n"),
        std::string("checkpointing = {mode = 'every', every = 3}\n"),
        std::string("pytorch = {async_unshard = true}\nsharding = {reshard_after_forward = 2}\n"),
        "pytorch = {async_unshard = true}\noffload = {parameters = true}\n" + prefetch,
        "pytorch = {implementation = 'torchtitan', keep_sharded_in_backward = "
        "['model.embed_tokens']}\n" +
            modules("['model.embed_tokens', 'model.layers.*']"),
        prefetch + modules("['model.layers.0', 'model.layers.2', 'model.layers.3']"),
        prefetch + modules("['model.layers.1', ['model.layers.2', 'model.layers.3']]"),
        modules("['model.layers.*.self_attn', 'model.layers.*.self_attn.q_proj']"),
        modules("[['model.layers.0.self_attn', 'model.layers.1.self_attn'], 'model.layers.*']"),
        modules(
            "[['model.rotary_emb', 'model.norm'], ['model.layers.0.mlp.act_fn', 'lm_head']]")}) {
    for (const int ranks : {2, 4}) expect_laws(job_of(plan, ranks));
    if (plan.find("= 2") == std::string::npos) expect_laws(job_of(plan, 1));
  }
  LlamaConfig biased = four_layers();
  biased.attention_bias = biased.output_bias = biased.mlp_bias = true;
  LlamaConfig qwen2 = four_layers();
  qwen2.family = ModelFamily::qwen2;
  qwen2.attention_bias = true;
  LlamaConfig tied = four_layers();
  tied.tied_embeddings = true;
  for (const LlamaConfig& model : {biased, qwen2, tied}) {
    for (const int ranks : {1, 2, 4}) expect_laws(job_of("", ranks, model));
  }
}

// Names of the ranges of a steady step, in the order in which they open.
Names ranges(const RankProgram& program, const std::string& beginning) {
  Names found;
  for (const Instruction& i : program.programs[2].instructions) {
    if (i.kind != Kind::range_begin) continue;
    const std::string& name = program.name(i.target);
    if (name.starts_with(beginning)) found.push_back(name.substr(beginning.size()));
  }
  return found;
}

// Blocks 0, 2 and 3 are units, block 1 is the root's: block 0 has no unit one block ahead, block 2
// none one block back, for which it keeps the implicit rule (the unit before it, block 0).
TEST(Fsdp2, ExplicitPrefetchPassesOverBlocksThatAreNoUnits) {
  const Job job = job_of("prefetch = {forward = 1, backward = 1}\n" +
                             modules("['model.layers.0', 'model.layers.2', 'model.layers.3']"),
                         2);
  const RankProgram program = lower(job, 0);
  EXPECT_EQ(ranges(program, "FSDP::all_gather "),
            (Names{"(model.layers.0)", "(model.layers.2)", "(model.layers.3)",  // forward
                   "(model.layers.3)", "(model.layers.2)", "(model.layers.0)"}));
  ASSERT_EQ(program.warnings.size(), 1U);
  EXPECT_NE(program.warnings[0].find("1 of 4"), std::string::npos) << program.warnings[0];
}

TEST(Fsdp2, WhatBecomesOfAUnitAfterForward) {
  const auto of = [](const std::string& sharding, int ranks) {
    const Job job = job_of("sharding = {" + sharding + "}\n", ranks);
    return std::pair(after_forward(job, 0), after_forward(job, 1));  // root, a block
  };
  using A = AfterForward;
  EXPECT_EQ(of("", 4), std::pair(A::keep, A::reshard));
  EXPECT_EQ(of("", 1), std::pair(A::keep, A::reshard));
  EXPECT_EQ(of("strategy = 'no_shard'", 4), std::pair(A::keep, A::reshard));
  EXPECT_EQ(of("reshard_after_forward = true", 1), std::pair(A::reshard, A::reshard));
  EXPECT_EQ(of("reshard_after_forward = false", 1), std::pair(A::keep, A::keep));
  EXPECT_EQ(of("reshard_after_forward = 1", 4), std::pair(A::keep, A::keep));
  EXPECT_EQ(of("reshard_after_forward = 1", 1), std::pair(A::keep, A::keep));
  EXPECT_EQ(of("reshard_after_forward = 2", 4),
            std::pair(A::reshard_to_group, A::reshard_to_group));
  EXPECT_EQ(of("reshard_after_forward = 4", 4), std::pair(A::reshard, A::reshard));
  EXPECT_EQ(of("keep_after_forward = ['model.layers.0']", 4), std::pair(A::keep, A::keep));
  EXPECT_EQ(of("strategy = 'shard_grad_op'", 4), std::pair(A::keep, A::keep));
}

TEST(Fsdp2, OnlyAnEmbeddingMayStaySharded) {
  const auto message = [](const std::string& glob, const std::string& wrapped, bool is_tied) {
    LlamaConfig model = four_layers();
    model.tied_embeddings = is_tied;
    const auto job =
        made(model, "pytorch = {keep_sharded_in_backward = ['" + glob + "']}\n" + wrapped, 2);
    return job ? std::string() : job.error().text();
  };
  const std::string embedding = modules("['model.embed_tokens', 'model.layers.*']");
  EXPECT_EQ(message("model.embed_tokens", embedding, false), "");
  EXPECT_NE(message("model.layers.1", embedding, false).find("'model.layers.1'"),
            std::string::npos);
  EXPECT_NE(message("model.nothing", embedding, false).find("matches no module"),
            std::string::npos);
  const std::string with_head = modules("[['model.embed_tokens', 'lm_head']]");
  EXPECT_NE(message("model.embed_tokens", with_head, true).find("backward needs"),
            std::string::npos);
}

// Bytes that a steady step reads and writes between shards and parameters, gradients and their sums.
double bytes_between(const RankProgram& program) {
  constexpr Operator kOperators[] = {Operator::cast,
                                     Operator::shard_cast,
                                     Operator::all_gather_copy_in,
                                     Operator::all_gather_copy_out,
                                     Operator::reduce_scatter_copy_in,
                                     Operator::all_gather,
                                     Operator::reduce_scatter};
  double bytes = 0;
  for (const Instruction& i : program.programs[2].instructions) {
    if (i.cost_key == kNone) continue;
    const CostKey& key = program.cost_keys[static_cast<std::size_t>(i.cost_key)];
    if (std::ranges::find(kOperators, key.op) != std::end(kOperators)) bytes += bytes_moved(key);
  }
  return bytes;
}

// Each gather of the root (one: it stays unsharded after forward) and of the blocks (two) reads shards
// and writes parameters, or nothing where operators read the shards. Gradients are read and written
// twice, as what they are copied from dies before their sum is there.
TEST(Fsdp2, ARankAloneCopiesNothingToItself) {
  const auto bytes = [](const std::string& precision) {
    const RankProgram program = lower(job_of("precision = {" + precision + "}\n", 1), 0);
    const auto root = static_cast<double>(program.units[0].padded);
    double blocks = 0;
    for (std::size_t u = 1; u < program.units.size(); ++u) {
      blocks += static_cast<double>(program.units[u].padded);
    }
    return std::pair(bytes_between(program), std::pair(root, blocks));
  };
  const auto expect = [&](const std::string& precision, double gather, double reduction) {
    const auto [moved, elements] = bytes(precision);
    const auto [root, blocks] = elements;
    EXPECT_EQ(moved, gather * (root + 2 * blocks) + reduction * (root + blocks)) << precision;
  };
  expect("storage = 'fp32', param = 'bf16', reduce = 'fp32'", 4 + 2, 2 + 2 + 2 + 4);
  expect("storage = 'fp32', param = 'bf16', reduce = 'bf16'", 4 + 2, 2 + 2 + 2 + 4);
  expect("storage = 'fp32', param = 'fp32', reduce = 'fp32'", 0, 4 + 4 + 4 + 4);
  expect("storage = 'bf16', param = 'bf16', reduce = 'fp32'", 0, 2 + 2 + 2 + 2);
}

TEST(Implementation, TorchtitanOrdersModulesItsOwnWay) {
  const Job hugging_face = job_of("", 2);
  const Job titan = job_of("pytorch = {implementation = 'torchtitan'}\n", 2);
  const auto parameters = [](const Job& job, UnitId unit) {
    Names names;
    for (const ParameterId p : job.units[static_cast<std::size_t>(unit)].parameters) {
      const std::string& name = job.tree.parameters[static_cast<std::size_t>(p)].name;
      names.push_back(name.substr(0, name.rfind('.')));
    }
    return names;
  };
  const auto block = [](const Names& last) {
    Names names;
    for (const char* part : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                             "self_attn.o_proj", "mlp.gate_proj"}) {
      names.push_back(std::string("model.layers.2.") + part);
    }
    for (const std::string& part : last) names.push_back("model.layers.2." + part);
    return names;
  };
  EXPECT_EQ(parameters(hugging_face, 3),
            block({"mlp.up_proj", "mlp.down_proj", "input_layernorm", "post_attention_layernorm"}));
  EXPECT_EQ(parameters(titan, 3),
            block({"mlp.down_proj", "mlp.up_proj", "input_layernorm", "post_attention_layernorm"}));
  EXPECT_EQ(parameters(titan, 0), (Names{"model.embed_tokens", "model.norm", "lm_head"}));
  EXPECT_EQ(titan.tree.find("model"), kNone);
  EXPECT_EQ(titan.tree.find("model.rotary_emb"), kNone);
  for (const Parameter& p : titan.tree.parameters) {
    const Module& owner = titan.tree.modules[static_cast<std::size_t>(p.module)];
    EXPECT_EQ(p.name.substr(0, p.name.rfind('.')), owner.path);
  }
}

}  // namespace
}  // namespace foreshard
