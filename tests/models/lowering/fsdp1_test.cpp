// FSDP1: how flat parameters are laid out and cut, when the host waits, and the laws of step programs
// under all of its settings. What it requests of the allocator: pytorch_histories_test.cpp.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "models/sharding/flat_parameters.hpp"
#include "tests/models/lowering/program_checks.hpp"
#include "tests/small_llama.hpp"

namespace foreshard {
namespace {

Result<Job> made_fsdp1(const std::string& toml, int ranks, const LlamaConfig& model) {
  auto plan = parse_plan(
      "runtime = 'fsdp1'\nbatch = {micro_batch = 2, sequence = 8, accumulation = 1}\n" + toml,
      "plan.toml");
  if (!plan) return tl::unexpected(plan.error());
  return make_job(model, *plan, "plan.toml", ranks);
}

// D = 48, F = 56, four heads, two for keys and values, V = 90, four layers.
LlamaConfig fsdp1_model() {
  return tests::small_llama({48, 56, 4, 4, 2, 90});
}

Job fsdp1_job(const std::string& toml, int ranks, const LlamaConfig& model = fsdp1_model()) {
  auto job = made_fsdp1("operators = 'pytorch-eager'\n" + toml, ranks, model);
  EXPECT_TRUE(job) << (job ? "" : job.error().text());
  return *job;
}

void expect_fsdp1_laws(Job job) {
  for (const std::int64_t accumulation : {1, 3}) {
    for (const When sync : {When::every, When::last}) {
      for (const CheckpointMode mode : {CheckpointMode::none, CheckpointMode::full}) {
        for (const ZeroGrad zero : {ZeroGrad::none, ZeroGrad::zeros}) {
          job.plan.batch.accumulation = accumulation;
          job.plan.batch.gradient_sync = sync;
          job.plan.checkpointing.mode = mode;
          job.plan.pytorch.zero_grad = zero;
          const auto broken = tests::broken_laws(lower(job, job.ranks - 1));
          ASSERT_TRUE(broken.empty()) << broken.front() << "\n"
                                      << to_toml(job.plan) << job.ranks << " ranks";
        }
      }
    }
  }
}

TEST(Fsdp1, ObeysTheLaws) {
  for (const char* plan :
       {"", "sharding = {strategy = 'shard_grad_op'}\n", "sharding = {strategy = 'no_shard'}\n",
        "sharding = {strategy = 'hybrid_shard', shard_group = 2}\n",
        "sharding = {strategy = 'hybrid_shard_zero2', shard_group = 2}\n"
        "precision = {reduce = 'bf16'}\n",
        "prefetch = {forward_prefetch = true, limit_all_gathers = false}\n",
        "prefetch = {backward_prefetch = 'post'}\npytorch = {use_orig_params = false}\n",
        "prefetch = {backward_prefetch = 'none'}\n", "precision = {param = 'fp32'}\n",
        "precision = {param = 'fp32'}\nsharding = {strategy = 'no_shard'}\n",
        "offload = {parameters = true}\n",
        "offload = {parameters = true}\nsharding = {strategy = 'no_shard'}\n",
        "wrap = {policy = 'modules', modules = ['model.embed_tokens', 'model.layers.*.mlp', "
        "'model.layers.*', 'lm_head']}\n",
        "wrap = {policy = 'none'}\n",
        "wrap = {policy = 'size', min_num_params = 4000}\n"
        "pytorch = {implementation = 'transformers'}\n"}) {
    expect_fsdp1_laws(fsdp1_job(plan, 4));
    if (std::string(plan).find("shard_group") == std::string::npos)
      expect_fsdp1_laws(fsdp1_job(plan, 1));
  }
  for (const char* strategy : {"full_shard", "shard_grad_op"}) {
    for (const char* keeps_parameters : {"true", "false"}) {
      expect_fsdp1_laws(
          fsdp1_job("offload = {parameters = true}\nprecision = {param = 'fp32'}\n"
                    "sharding = {strategy = '" +
                        std::string(strategy) +
                        "'}\npytorch = {use_orig_params = " + keeps_parameters + "}\n",
                    4));
    }
  }
  for (const char* setup : {"meta", "host", "device"}) {
    expect_fsdp1_laws(fsdp1_job("pytorch = {setup = '" + std::string(setup) + "'}\n", 4));
  }
}

// A sum of gradients that is cast to the type of the reduction and back lies in the other of two buffers
// after it. Where gradients outlive steps, every second step finds them where it did.
TEST(Fsdp1, CastsSumsOfGradientsIntoAnotherBuffer) {
  const std::string plan = "sharding = {strategy = 'no_shard'}\nprecision = {reduce = 'bf16'}\n";
  EXPECT_EQ(lower(fsdp1_job(plan, 2), 0).cycle, 1);
  Job zeros = fsdp1_job(plan + "pytorch = {zero_grad = 'zeros'}\n", 2);
  const RankProgram alternating = lower(zeros, 0);
  ASSERT_EQ(alternating.cycle, 2);
  EXPECT_EQ(alternating.number_of(4), alternating.number_of(2));
  EXPECT_EQ(alternating.number_of(5), alternating.number_of(3));
  EXPECT_EQ(tests::broken_laws(alternating), std::vector<std::string>());
  zeros.plan.batch.accumulation = 2;
  EXPECT_EQ(lower(zeros, 0).cycle, 1);
}

std::vector<std::int64_t> locals(const FlatParameter& flat) {
  std::vector<std::int64_t> found;
  for (const ParameterShard& piece : flat.layout.parameters) found.push_back(piece.local);
  return found;
}

// D = 6, F = 7, two heads of 3, V = 5, one layer. The root's parameters: embedding 30, norm 6, head 30
// elements. In bf16 each begins at a multiple of 8: at 0, 32 and 40, with 2 elements of padding before
// both; 70 in all, padded to 72 for 4 ranks, 18 each.
TEST(Fsdp1, AlignsParametersInTheFlatOne) {
  const LlamaConfig model = tests::small_llama({6, 7, 1, 2, 2, 5});
  const Job job = fsdp1_job("pytorch = {implementation = 'torchtitan'}\n", 4, model);
  const auto root_of = [&job](int rank) { return flat_parameters(job, place_of(job, rank))[0]; };
  EXPECT_EQ(root_of(0).numel, 72);
  EXPECT_EQ(root_of(0).paddings, (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(root_of(0).layout.padded, 18);
  EXPECT_EQ(locals(root_of(0)), (std::vector<std::int64_t>{18}));
  EXPECT_EQ(locals(root_of(1)), (std::vector<std::int64_t>{12, 4}));  // to 30, from 32
  EXPECT_EQ(locals(root_of(2)), (std::vector<std::int64_t>{2, 14}));  // to 38, from 40
  EXPECT_EQ(locals(root_of(3)), (std::vector<std::int64_t>{16}));     // to 70
  EXPECT_EQ(rank_classes(job, 4), (std::vector<int>{0, 1, 2, 3}));
}

// The same without use_orig_params: 66 elements in shards of 17, of which the last is padded.
TEST(Fsdp1, PadsOnlyTheLastShardOfAFlatParameterOfItsOwn) {
  const LlamaConfig model = tests::small_llama({6, 7, 1, 2, 2, 5});
  const Job job =
      fsdp1_job("pytorch = {implementation = 'torchtitan', use_orig_params = false}\n", 4, model);
  const FlatParameter root = flat_parameters(job, place_of(job, 3))[0];
  EXPECT_EQ(root.numel, 66);
  EXPECT_TRUE(root.paddings.empty());
  EXPECT_EQ(locals(root), (std::vector<std::int64_t>{17}));
  EXPECT_EQ(root.cut, 15);
  EXPECT_EQ(rank_classes(job, 4), (std::vector<int>{0, 0, 0, 3}));
}

std::ptrdiff_t host_waits(const Program& step) {
  return std::count_if(step.instructions.begin(), step.instructions.end(),
                       [](const Instruction& i) { return i.kind == Kind::host_wait; });
}

// Four blocks and a root ask for ten gathers in a step: five in forward, then the root again, block 3 with
// it, and one block ahead of each other one. Of the first step's five find two units freed that nobody
// has waited for: blocks 2 and 3 in forward, the root, and blocks 1 and 0 in backward. Later steps find
// four freed in the step before, for whose end the host has waited already, and so wait as often.
TEST(Fsdp1, LimitsHowFarTheHostRunsAhead) {
  const RankProgram limited = lower(fsdp1_job("", 2), 0);
  const RankProgram unlimited = lower(fsdp1_job("prefetch = {limit_all_gathers = false}\n", 2), 0);
  EXPECT_EQ(host_waits(limited.programs[1]) - host_waits(unlimited.programs[1]), 5);
  EXPECT_EQ(host_waits(limited.programs.back()) - host_waits(unlimited.programs.back()), 5);
}

TEST(Fsdp1, RefusesWhatItDoesNotHave) {
  const auto message = [](const std::string& toml) {
    const auto job = made_fsdp1(toml, 2, fsdp1_model());
    return job ? std::string() : job.error().text();
  };
  EXPECT_NE(message("").find("plan.toml: runtime: is \"fsdp1\""), std::string::npos);
  const std::string eager = "operators = 'pytorch-eager'\n";
  EXPECT_NE(message(eager + "offload = {optimizer = true}\n").find("offload.optimizer"),
            std::string::npos);
  EXPECT_NE(message(eager + "offload = {activations = true}\n").find("offload.activations"),
            std::string::npos);
  EXPECT_NE(message(eager + "wrap = {policy = 'modules', modules = [['model.norm', 'lm_head']]}\n")
                .find("wrap.modules"),
            std::string::npos);
  EXPECT_NE(message(eager + "offload = {parameters = true}\nprecision = {param = 'fp32'}\n"
                            "sharding = {strategy = 'no_shard'}\n")
                .find("offload.parameters: is true where FSDP1 neither shards"),
            std::string::npos);
  LlamaConfig tied = fsdp1_model();
  tied.tied_embeddings = true;
  const auto job = made_fsdp1(eager + "pytorch = {setup = 'meta'}\n", 2, tied);
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().text().find("pytorch.setup: is \"meta\""), std::string::npos);
}

}  // namespace
}  // namespace foreshard
