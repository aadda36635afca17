// Workspaces by device and version, and the settings of PyTorch that jobs refuse or approximate.
#include "models/sharding/pytorch_device.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "models/sharding/job.hpp"
#include "tests/small_llama.hpp"

namespace foreshard {
namespace {

Plan eager() {
  Plan plan;
  plan.operators = OperatorSetName::pytorch_eager;
  return plan;
}

Result<Job> job_of(const Plan& plan, const Machine* machine = nullptr) {
  return make_job(tests::small_llama({8, 16, 2, 2, 1, 20}), plan, "plan.toml", 2, 0, machine);
}

std::int64_t workspace(const char* machine, PyTorchVersion version) {
  PyTorchPlan plan;
  plan.version = version;
  return pytorch_device(*load_machine(machine), plan).matmul_workspace.count;
}

TEST(PyTorchDevice, WorkspacesFollowDeviceAndVersion) {
  // What unmodified PyTorch 2.11 requests on capability 9.0, and elsewhere.
  constexpr std::int64_t kLarge = 33'554'432, kSmall = 8'519'680;
  EXPECT_EQ(workspace("h100-sxm", {2, 6}), kLarge);
  EXPECT_EQ(workspace("h200", {2, 11}), kLarge);
  EXPECT_EQ(workspace("a100-sxm-40", {2, 11}), kSmall);
  EXPECT_EQ(workspace("l40s", {2, 15}), kSmall);
  EXPECT_EQ(workspace("b200", {2, 11}), kSmall);
  EXPECT_EQ(workspace("b200", {2, 12}), kLarge);
  EXPECT_EQ(workspace("rtx5090", {3, 0}), kLarge);
  EXPECT_EQ(workspace("mi300x", {2, 11}), 4 * kLarge);
  EXPECT_EQ(workspace("mi250x", {2, 11}), kLarge);
}

TEST(PyTorchDevice, IsTheJobsMachineOrAnH100) {
  const Machine a100 = *load_machine("a100-sxm-40");
  Plan plan = eager();
  EXPECT_EQ(job_of(plan)->device, (DeviceTraits{DeviceKind::cuda, 90, 132, Bytes{33'554'432}}));
  const Job job = *job_of(plan, &a100);
  EXPECT_EQ(job.device, (DeviceTraits{DeviceKind::cuda, 80, 108, Bytes{8'519'680}}));
  plan.pytorch.cublas_workspace_config = ":4096:8";
  EXPECT_EQ(replan(job, plan, "plan.toml")->device,
            (DeviceTraits{DeviceKind::cuda, 80, 108, Bytes{33'554'432}}));
  plan.pytorch.implementation = ImplementationName::transformers;  // a tree of its own
  EXPECT_EQ(replan(job, plan, "plan.toml")->device.compute_capability, 80);
  EXPECT_EQ(job_of(Plan{}, &a100)->device, DeviceTraits{}) << "Foreshard's own operators";
}

std::string refusal(const Plan& plan) {
  const auto job = job_of(plan);
  return job ? "" : job.error().text();
}

TEST(PyTorchDevice, AmdHasNoExpandableSegmentsBefore211) {
  Plan plan = eager();
  plan.allocator.expandable_segments = true;
  plan.pytorch.version = {2, 9};
  const Machine amd = *load_machine("mi300x"), nvidia = *load_machine("h100-sxm");
  const auto goes_without = [&](const Machine& machine) {
    const auto job = job_of(plan, &machine);
    return !job->warnings.empty() &&
           job->warnings.front().starts_with("allocator.expandable_segments");
  };
  EXPECT_TRUE(goes_without(amd));
  EXPECT_TRUE(job_of(plan, &amd)->plan.allocator.expandable_segments) << "as it was asked";
  EXPECT_FALSE(goes_without(nvidia));
  plan.pytorch.version = {2, 11};
  EXPECT_FALSE(goes_without(amd));
}

TEST(PyTorchSupport, WhatIsNotDescribedIsRefused) {
  const std::string undescribed =
      ", which operators \"pytorch-eager\" do not describe yet; expected ";
  Plan plan = eager();
  EXPECT_EQ(refusal(plan), "");
  plan.pytorch.loss = LossKind::chunked;
  EXPECT_EQ(refusal(plan), "");
  plan.pytorch.implementation = ImplementationName::transformers;
  EXPECT_EQ(refusal(plan),
            "plan.toml: pytorch.loss: is \"chunked\" with pytorch.implementation \"transformers\"" +
                undescribed + "\"whole\" or \"compiled\", or implementation \"torchtitan\"");
  plan = eager();
  plan.offload.activations = true;
  EXPECT_EQ(refusal(plan), "plan.toml: offload.activations: is true" + undescribed + "false");
  plan = eager();
  plan.offload.optimizer = true;
  EXPECT_EQ(refusal(plan), "plan.toml: offload.optimizer: is true without offload.parameters" +
                               undescribed + "offload.parameters = true, or false");
  plan.offload.parameters = true;
  EXPECT_EQ(refusal(plan), "");
}

TEST(Implementations, KeysThatTheyDecideThemselvesAreWarnedOf) {
  const auto warned = [](const Plan& plan, const std::string& key) {
    const auto job = job_of(plan);
    return job &&
           std::any_of(job->warnings.begin(), job->warnings.end(), [&](const std::string& w) {
             return w.starts_with(key + " = ") && w.find("has no effect here") != w.npos;
           });
  };
  Plan plan = eager();
  plan.pytorch.repeat_kv = true;
  plan.pytorch.rope = RopeArithmetic::half;
  plan.pytorch.logits = DType::bf16;
  plan.pytorch.rms_norm = RmsNormKind::composite;
  const auto keys_warned = [&](ImplementationName implementation) {
    plan.pytorch.implementation = implementation;
    std::vector<std::string> found;
    for (const char* key : {"repeat_kv", "rope", "logits", "rms_norm"}) {
      if (warned(plan, std::string("pytorch.") + key)) found.emplace_back(key);
    }
    return found;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys_warned(ImplementationName::torchtitan), Keys());
  EXPECT_EQ(keys_warned(ImplementationName::torchtitan_2025_12), (Keys{"repeat_kv", "rope"}));
  EXPECT_EQ(keys_warned(ImplementationName::torchtitan_2026_02), (Keys{"repeat_kv", "rope"}));
  EXPECT_EQ(keys_warned(ImplementationName::transformers),
            (Keys{"repeat_kv", "rope", "logits", "rms_norm"}));
  plan = eager();
  plan.pytorch.checkpoint_early_stop = true;
  plan.checkpointing.mode = CheckpointMode::full;
  EXPECT_FALSE(warned(plan, "pytorch.checkpoint_early_stop"));
  plan.checkpointing.mode = CheckpointMode::transformers;
  EXPECT_TRUE(warned(plan, "pytorch.checkpoint_early_stop"));
}

TEST(PyTorchSupport, BlocksThatAreCompiledOtherwiseAreRefused) {
  const std::string undescribed =
      ", which operators \"pytorch-compile\" do not describe yet; expected ";
  const std::string otherwise = ", or operators \"pytorch-eager\"";
  Plan compiled = eager();
  compiled.operators = OperatorSetName::pytorch_compile;
  EXPECT_EQ(refusal(compiled), "");
  Plan plan = compiled;
  plan.pytorch.implementation = ImplementationName::transformers;
  EXPECT_EQ(refusal(plan), "plan.toml: pytorch.implementation: is \"transformers\"" + undescribed +
                               "\"torchtitan\"" + otherwise);
  plan = compiled;
  plan.pytorch.attention = AttentionBackend::math;
  const std::string others =
      undescribed + "another one, precision.param \"bf16\" or pytorch.repeat_kv = true" + otherwise;
  EXPECT_EQ(
      refusal(plan),
      "plan.toml: pytorch.attention: takes the math path (as pytorch.attention demands)" + others);
  // Memory-efficient attention of grouped queries is the math path's before 2.14.
  plan = compiled;
  plan.pytorch.attention = AttentionBackend::efficient;
  plan.pytorch.version = {2, 11};
  const auto grouped = [&] {
    return make_job(tests::small_llama({32, 16, 4, 2, 1, 20}), plan, "plan.toml", 2, 0, nullptr);
  };
  ASSERT_FALSE(grouped());
  EXPECT_EQ(
      grouped().error().text(),
      "plan.toml: pytorch.attention: takes the math path (memory-efficient attention takes as "
      "many heads of keys as of queries)" +
          others);
  plan.pytorch.repeat_kv = true;
  EXPECT_TRUE(grouped());
  plan = compiled;
  plan.wrap.policy = WrapPolicy::modules;
  plan.wrap.modules = {WrapGroup{{"model.layers.*.mlp"}, false}};
  EXPECT_EQ(refusal(plan), "plan.toml: wrap: makes units inside blocks" + undescribed +
                               "blocks, or several of them, as units" + otherwise);
}

TEST(PyTorchSupport, WhatIsAnsweredAsSomethingElseIsWarnedOf) {
  const auto warnings = [](PyTorchVersion version) {
    Plan plan = eager();
    plan.pytorch.version = version;
    return job_of(plan)->warnings;
  };
  using Warnings = std::vector<std::string>;
  EXPECT_EQ(warnings({2, 6}), Warnings{});
  EXPECT_EQ(warnings({2, 15}), Warnings{});
  EXPECT_EQ(
      warnings({2, 5}),
      Warnings{"pytorch.version: PyTorch 2.5 is not described; the result is that of 2.6, the "
               "nearest version that is"});
  EXPECT_EQ(warnings({2, 20}),
            Warnings{"pytorch.version: PyTorch 2.20 is not described; the result is that of 2.15, "
                     "the nearest version that is"});
}

}  // namespace
}  // namespace foreshard