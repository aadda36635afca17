#include "tests/models/lowering/pytorch_case.hpp"

#include <map>
#include <stdexcept>

namespace foreshard::tests {
namespace {

using nlohmann::json;

std::string word(const json& words, const char* key, const char* fallback) {
  return words.value(key, fallback);
}

bool flag(const json& words, const char* key, int fallback = 0) {
  return words.value(key, fallback) != 0;
}

// "every:2" as {"every", 2}.
std::pair<std::string, std::int64_t> counted(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {text, 0};
  return {text.substr(0, colon), std::stoll(text.substr(colon + 1))};
}

WrapPlan wrap(const json& words, std::int64_t layers) {
  const auto [kind, number] = counted(word(words, "wrap", "layers"));
  WrapPlan plan;
  if (kind == "layers") return plan;
  plan.policy = WrapPolicy::modules;
  if (kind == "none") {
    plan.policy = WrapPolicy::none;
  } else if (kind == "size") {
    plan.policy = WrapPolicy::size;
    plan.min_num_params = number;
  } else if (kind == "titan") {
    plan.modules = {
        {{"model.embed_tokens"}}, {{"model.layers.*"}}, {{"model.norm", "lm_head"}, true}};
  } else if (kind == "attn_mlp") {
    plan.modules = {{{"model.layers.*.self_attn"}}, {{"model.layers.*.mlp"}}, {{"model.layers.*"}}};
  } else if (kind == "every") {
    for (std::int64_t i = 0; i < layers; ++i) {
      if (i % number == 0) plan.modules.push_back({{}, true});
      plan.modules.back().globs.push_back("model.layers." + std::to_string(i));
    }
  } else {
    throw std::invalid_argument("wrap " + kind);
  }
  return plan;
}

ShardingPlan sharding(const json& words) {
  using Kind = ReshardAfterForward::Kind;
  ShardingPlan plan;
  const json reshard = words.value("reshard", json("auto"));
  const std::string text = reshard.is_string() ? reshard.get<std::string>() : "";
  if (text == "true" || text == "false") {
    plan.reshard_after_forward.kind = text == "true" ? Kind::yes : Kind::no;
  } else if (text != "auto") {
    plan.reshard_after_forward = {Kind::group,
                                  text.empty() ? reshard.get<std::int64_t>() : std::stoll(text)};
  } else if (word(words, "wrap", "layers") == "titan") {
    plan.keep_after_forward = {"model.norm"};  // it would be gathered again at once
  }
  const std::string mesh = word(words, "mesh", "1d");
  if (mesh != "1d") {  // replicas x shards
    plan.strategy = Strategy::hybrid_shard;
    plan.shard_group = std::stoll(mesh.substr(mesh.find('x') + 1));
  }
  if (word(words, "accum_sync", "every") == "last_keep") plan.reshard_after_backward = When::last;
  plan.shard_dim = flag(words, "shard_dim1") ? 1 : 0;
  return plan;
}

PrecisionPlan precision(const json& words) {
  constexpr DType fp32 = DType::fp32, bf16 = DType::bf16;
  static const std::map<std::string, PrecisionPlan> kPrecisions = {
      {"fp32", {fp32, fp32, fp32, fp32}},      {"bf16_fp32", {fp32, bf16, fp32, fp32}},
      {"bf16", {fp32, bf16, bf16, fp32}},      {"bf16_none", {fp32, bf16, {}, fp32}},
      {"pure_bf16", {bf16, bf16, bf16, bf16}}, {"pure_bf16_fp32", {bf16, bf16, fp32, bf16}}};
  return kPrecisions.at(word(words, "precision", "bf16_fp32"));
}

CheckpointPlan checkpointing(const std::string& kind) {
  CheckpointPlan plan;
  if (kind == "full" || kind == "full_early") plan.mode = CheckpointMode::full;
  if (kind == "every2") plan.mode = CheckpointMode::every;
  if (kind == "hf") plan.mode = CheckpointMode::transformers;
  if (kind == "selective") {
    plan.mode = CheckpointMode::selective;
    plan.save_matmul = false;
    plan.save_every_second_matmul = true;
  }
  return plan;
}

OptimizerPlan optimizer(const json& words) {
  static const std::map<std::string, OptimizerKernel> kKernels = {
      {"", OptimizerKernel::foreach},
      {"foreach", OptimizerKernel::foreach},
      {"fused", OptimizerKernel::fused},
      {"loop", OptimizerKernel::loop}};
  const std::string text = word(words, "optim", "adamw_foreach");
  const std::size_t bar = text.find('_');
  OptimizerPlan plan;
  plan.name = text.starts_with("sgd") ? OptimizerName::sgd : OptimizerName::adamw;
  plan.kernel = kKernels.at(bar == std::string::npos ? "" : text.substr(bar + 1));
  plan.clip_grad_norm = flag(words, "clip", 1) ? 1.0 : 0.0;
  if (plan.name == OptimizerName::sgd) plan.weight_decay = 0;  // of torch.optim.SGD, where it is not passed
  return plan;
}

PyTorchPlan pytorch(const json& words) {
  static const std::map<std::string, AttentionBackend> kAttention = {
      {"flash", AttentionBackend::flash},
      {"efficient", AttentionBackend::efficient},
      {"cudnn", AttentionBackend::cudnn}};
  PyTorchPlan plan;
  plan.version = parse_pytorch_version(word(words, "version", "2.11")).value();
  plan.implementation = word(words, "impl", "titan") == "hf" ? ImplementationName::transformers
                                                             : ImplementationName::torchtitan;
  plan.attention = kAttention.at(word(words, "sdpa", "flash"));
  plan.repeat_kv = word(words, "gqa", "native") == "repeat";
  if (word(words, "rope", "complex") == "half") plan.rope = RopeArithmetic::half;
  if (word(words, "loss", "fp32") == "bf16") plan.logits = DType::bf16;
  if (word(words, "zero_grad", "none") == "zero") plan.zero_grad = ZeroGrad::zeros;
  plan.checkpoint_early_stop = word(words, "ac", "none") == "full_early";
  plan.async_unshard = flag(words, "async_unshard");
  if (!flag(words, "embed_in_bwd", 1)) plan.keep_sharded_in_backward = {"model.embed_tokens"};
  return plan;
}

// What FSDP1 and DDP have otherwise.
void describe_older_runtime(Plan& plan, const json& words) {
  static const std::map<std::string, Strategy> kStrategies = {
      {"FULL_SHARD", Strategy::full_shard},
      {"SHARD_GRAD_OP", Strategy::shard_grad_op},
      {"NO_SHARD", Strategy::no_shard}};
  static const std::map<std::string, BackwardPrefetch> kPrefetches = {
      {"PRE", BackwardPrefetch::pre},
      {"POST", BackwardPrefetch::post},
      {"NONE", BackwardPrefetch::none}};
  plan.runtime = words["api"] == "ddp" ? RuntimeName::ddp : RuntimeName::fsdp1;
  plan.sharding = {};
  plan.prefetch = {};
  PyTorchPlan& pytorch = plan.pytorch;
  if (word(words, "gpu", "ready") == "late") pytorch.gpu_timing = GpuTiming::late;
  if (plan.runtime == RuntimeName::ddp) {
    plan.wrap = {};
    pytorch.bucket_cap_mb.mebibytes = words.value("bucket_mb", 25);
    pytorch.gradient_as_bucket_view = flag(words, "bucket_view");
    pytorch.static_graph = flag(words, "static_graph");
    pytorch.init_sync = flag(words, "init_sync");
    return;
  }
  pytorch.setup = ModelSetup::device;
  plan.sharding.strategy = kStrategies.at(word(words, "strategy", "FULL_SHARD"));
  plan.prefetch.backward_prefetch = kPrefetches.at(word(words, "bwd_policy", "PRE"));
  plan.prefetch.forward_prefetch = flag(words, "fwd_prefetch1");
  plan.prefetch.limit_all_gathers = flag(words, "limit_ag", 1);
  pytorch.use_orig_params = flag(words, "orig_params", 1);
}

}  // namespace

PyTorchCase pytorch_case(const json& words, const json& config) {
  PyTorchCase c;
  c.model = parse_llama_config(config.dump(), "config.json").value();
  c.model.tied_embeddings = flag(words, "tie", c.model.tied_embeddings);
  if (const std::int64_t layers = words.value("layers", 0); layers > 0) c.model.layers = layers;
  c.ranks = words.value("world", 8);
  c.rank = words.value("rank", 0);
  c.steps = words.value("steps", 3);

  const std::string sync = word(words, "accum_sync", "every");
  Plan& plan = c.plan;
  plan.operators = OperatorSetName::pytorch_eager;
  plan.batch = {words.value("batch", 1), words.value("seq", 512), words.value("accum", 1),
                sync.starts_with("last") ? When::last : When::every,
                sync == "no_all_reduce" ? When::last : When::every};
  plan.wrap = wrap(words, c.model.layers);
  plan.sharding = sharding(words);
  plan.prefetch.forward = words.value("fwd_prefetch", 0);
  plan.prefetch.backward = words.value("bwd_prefetch", 0);
  plan.precision = precision(words);
  plan.offload.parameters = word(words, "offload", "none") != "none";
  plan.checkpointing = checkpointing(word(words, "ac", "none"));
  plan.optimizer = optimizer(words);
  plan.pytorch = pytorch(words);
  if (word(words, "api", "fsdp2") != "fsdp2") describe_older_runtime(plan, words);
  return c;
}

}  // namespace foreshard::tests
