#include "models/sharding/trained_parameters.hpp"

#include <gtest/gtest.h>

#include "models/llama/llama_config.hpp"

namespace foreshard {
namespace {

Result<Job> job_of(const std::string& toml) {
  const auto plan = parse_plan("operators = \"pytorch-eager\"\n" + toml, "plan.toml");
  EXPECT_TRUE(plan) << plan.error().text();
  return make_job(*load_llama_config("llama-3.1-8b"), *plan, "plan.toml", 8);
}

std::string refusal(const std::string& toml) {
  const auto job = job_of(toml);
  EXPECT_FALSE(job);
  return job ? "" : job.error().text();
}

std::size_t frozen(const Job& job) {
  std::size_t count = 0;
  for (const Parameter& p : job.tree.parameters) count += p.trains ? 0 : 1;
  return count;
}

constexpr std::size_t kLayers = 32;

TEST(TrainedParameters, AreAllButThoseBelowFrozenModules) {
  const auto mlps = job_of("frozen = [\"model.layers.*.mlp\"]");
  ASSERT_TRUE(mlps) << mlps.error().text();
  EXPECT_EQ(frozen(*mlps), 3 * kLayers);
  const auto layer = job_of("frozen = [\"model.layers.3\", \"lm_head\"]");
  ASSERT_TRUE(layer) << layer.error().text();
  EXPECT_EQ(frozen(*layer), 9U + 1U);
}

TEST(TrainedParameters, AreNamedInRefusals) {
  EXPECT_EQ(refusal("frozen = [\"model.layers.*.mpl\"]"),
            "plan.toml: frozen: 'model.layers.*.mpl' matches no module; expected a glob of Hugging "
            "Face names such as 'model.layers.*.mlp'; did you mean 'model.layers.0.mlp'");
  EXPECT_EQ(refusal("frozen = [\"model.*\", \"lm_head\"]"),
            "plan.toml: frozen: leaves nothing that trains; expected fewer globs");
  EXPECT_EQ(
      refusal("runtime = \"fsdp1\"\nfrozen = [\"model.layers.*.mlp\"]\n[pytorch]\n"
              "use_orig_params = false"),
      "plan.toml: pytorch.use_orig_params: is false, but unit 'model.layers.0' has parameters "
      "that train and others that are frozen, for which FSDP raises (\"Must flatten tensors "
      "with uniform `requires_grad`\"); expected true");
}

TEST(TrainedParameters, DecideWhereGradientsGo) {
  const auto job =
      job_of("frozen = [\"model.embed_tokens\", \"model.layers.0\", \"model.layers.1\"]");
  ASSERT_TRUE(job) << job.error().text();
  const std::vector<bool> gradients = has_gradients(*job);
  const auto reaches = [&](std::string_view path) {
    return input_has_gradient(job->tree, gradients, job->tree.find(path));
  };
  EXPECT_FALSE(reaches("model.layers.1"));
  EXPECT_FALSE(reaches("model.layers.2"));
  EXPECT_TRUE(reaches("model.layers.2.self_attn"));
  EXPECT_TRUE(reaches("model.layers.3"));
  EXPECT_TRUE(reaches("lm_head"));
}

TEST(TrainedParameters, OfAFlatParameterHaveGradientsTogether) {
  const auto job =
      job_of("runtime = \"fsdp1\"\nfrozen = [\"model.layers.*.mlp\", \"model.layers.0\"]");
  ASSERT_TRUE(job) << job.error().text();
  const std::vector<bool> gradients = has_gradients(*job);
  const auto of = [&](std::string_view path) {
    const Module& module = job->tree.modules[static_cast<std::size_t>(job->tree.find(path))];
    return gradients[static_cast<std::size_t>(module.parameters[0])];
  };
  EXPECT_FALSE(of("model.layers.0.mlp.up_proj"));
  EXPECT_TRUE(of("model.layers.1.mlp.up_proj"));
}

TEST(Autocast, IsRefusedWhereItIsNotDescribed) {
  const std::string autocast = "[pytorch]\nautocast = \"bf16\"\n";
  EXPECT_EQ(refusal(autocast + "loss = \"chunked\""),
            "plan.toml: pytorch.autocast: is \"bf16\" with a pytorch.loss that is chunked or "
            "compiled, which is not described yet; expected \"none\", or pytorch.loss = \"whole\"");
  EXPECT_TRUE(job_of("runtime = \"ddp\"\n[precision]\nparam = \"fp32\"\n" + autocast));
}

}  // namespace
}  // namespace foreshard
