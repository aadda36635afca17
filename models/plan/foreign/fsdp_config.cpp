#include "models/plan/foreign/fsdp_config.hpp"

#include <algorithm>

namespace foreshard::foreign {
namespace {

constexpr std::string_view kLlamaBlock = "LlamaDecoderLayer";

constexpr Limit kLimits[] = {
    {"ignored_modules", "", "a plan shards every module"},
    {"activation_checkpointing_offload", "", "a plan's checkpoints stay on the device"},
    {"mixed_precision_policy", "", "the plan has the types that mixed_precision names"},
    {"cpu_offload_pin_memory", "true", "the plan's host memory is pinned"},
    {"xla", "", "trains through PyTorch/XLA's own FSDP, which a plan does not describe"},
    {"xla_fsdp_v2", "", "trains through PyTorch/XLA's own FSDP, which a plan does not describe"},
    {"xla_fsdp_grad_ckpt", "", "read under xla only"},
};

// They decide how a checkpoint is loaded or saved. Peaks of steps do not depend on it.
constexpr Names kNoEffect =
    "state_dict_type final_state_dict_type cpu_ram_efficient_loading sync_module_states "
    "xla_fsdp_settings";
constexpr Names kOfFsdp1 =
    "sharding_strategy backward_prefetch backward_prefetch_policy forward_prefetch "
    "use_orig_params limit_all_gathers";

constexpr Limit kMeshLimits[] = {
    {"tp_size", "1", "a plan has no tensor parallelism"},
    {"cp_size", "1", "a plan has no context parallelism"},
    {"sp_size", "1", "a plan has no sequence parallelism"},
};
constexpr Names kMeshNoEffect =
    "cp_backend cp_comm_strategy sp_backend sp_seq_length sp_seq_length_is_variable "
    "sp_attn_implementation";

bool is_class_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

class FsdpConfig {
 public:
  FsdpConfig(Conversion& c, const FsdpSource& source) : c_(c), source_(source) {}

  int read() {
    const std::string version = key("version");
    const bool is_fsdp2 = c_.integer(version, {1, 2}).value_or(source_.is_trainer ? 2 : 1) == 2;
    is_fsdp2 ? read_fsdp2() : read_fsdp1();
    c_.carry(version, {"runtime"});
    read_wrapping(is_fsdp2);
    const std::string offload =
        c_.has(key("cpu_offload")) || (source_.is_trainer && !c_.has(key("offload_params")))
            ? key("cpu_offload")
            : key("offload_params");
    c_.take(offload, c_.plan.offload.parameters, has_option("offload"), "offload.parameters");
    read_checkpointing(is_fsdp2);
    for (const Limit& limit : kLimits) {
      c_.limit({key(std::string(limit.key)), limit.usual, limit.why});
    }
    set_aside(kNoEffect);
    return is_fsdp2 ? 2 : 1;
  }

 private:
  // Keys may be written with or without their prefix.
  std::string key(const std::string& name) const {
    const std::string bare = source_.section + name, prefixed = source_.section + "fsdp_" + name;
    return c_.has(prefixed) || (!c_.has(bare) && !source_.is_trainer) ? prefixed : bare;
  }

  bool has_option(std::string_view option) const {
    return std::find(source_.legacy_options.begin(), source_.legacy_options.end(), option) !=
           source_.legacy_options.end();
  }

  void set_aside(Names names) {
    for (const std::string_view name : each(names)) c_.set_aside({key(std::string(name))});
  }

  // A number counts from 1, in the order of PyTorch's enumeration.
  std::optional<Strategy> strategy_at(const std::string& path) {
    return c_.choice<Strategy>(path, {{"FULL_SHARD", Strategy::full_shard},
                                      {"SHARD_GRAD_OP", Strategy::shard_grad_op},
                                      {"NO_SHARD", Strategy::no_shard},
                                      {"HYBRID_SHARD", Strategy::hybrid_shard},
                                      {"HYBRID_SHARD_ZERO2", Strategy::hybrid_shard_zero2},
                                      {"1", Strategy::full_shard},
                                      {"2", Strategy::shard_grad_op},
                                      {"3", Strategy::no_shard},
                                      {"4", Strategy::hybrid_shard},
                                      {"5", Strategy::hybrid_shard_zero2}});
  }

  void read_strategy() {
    const std::string strategy = source_.is_trainer ? "fsdp" : key("sharding_strategy");
    const std::string reshard = key("reshard_after_forward");
    Strategy& field = c_.plan.sharding.strategy;
    if (source_.is_trainer) {
      if (has_option("shard_grad_op")) field = Strategy::shard_grad_op;
      if (has_option("no_shard")) field = Strategy::no_shard;
      if (has_option("hybrid_shard")) field = Strategy::hybrid_shard;
      if (has_option("hybrid_shard_zero2")) field = Strategy::hybrid_shard_zero2;
    } else {
      field = strategy_at(strategy).value_or(Strategy::full_shard);
    }
    const bool agrees = strategy_at(reshard) == field;
    c_.carry(agrees && !c_.has(strategy) ? reshard : strategy, {"sharding.strategy"});
    if (!c_.has(reshard)) return;
    if (agrees) return c_.carry(reshard, {"sharding.strategy"});
    c_.drop(reshard,
            "under FSDP 1, Accelerate goes by its sharding strategy, FULL_SHARD where none is "
            "named; write it as " +
                std::string(source_.is_trainer ? "an option of fsdp" : "fsdp_sharding_strategy"));
  }

  void read_fsdp1() {
    c_.plan.runtime = RuntimeName::fsdp1;
    read_strategy();
    const std::string old_backward = key("backward_prefetch_policy");  // until 2024
    const std::string backward = c_.has(old_backward) ? old_backward : key("backward_prefetch");
    PrefetchPlan& prefetch = c_.plan.prefetch;
    prefetch.backward_prefetch =
        c_.choice<BackwardPrefetch>(backward, {{"BACKWARD_PRE", BackwardPrefetch::pre},
                                               {"BACKWARD_POST", BackwardPrefetch::post},
                                               {"NO_PREFETCH", BackwardPrefetch::none},
                                               {"1", BackwardPrefetch::pre},
                                               {"2", BackwardPrefetch::post}})
            .value_or(BackwardPrefetch::none);
    c_.carry(backward, {"prefetch.backward_prefetch"});
    c_.take(key("forward_prefetch"), prefetch.forward_prefetch, false, "prefetch.forward_prefetch");
    c_.take(key("use_orig_params"), c_.plan.pytorch.use_orig_params, true,
            "pytorch.use_orig_params");
    if (source_.is_trainer) {
      c_.take(key("limit_all_gathers"), prefetch.limit_all_gathers, true,
              "prefetch.limit_all_gathers");
    } else {
      c_.set_aside({key("limit_all_gathers")});  // accelerate launch hands it to no one
    }
    if (c_.plan.precision.param == DType::bf16) {
      c_.imply({}, "FSDP 1 also casts buffers to bf16, which the plan leaves out: they are small");
    }
  }

  void read_fsdp2() {
    const std::string reshard = key("reshard_after_forward");
    const bool usual = !has_option("shard_grad_op");
    const bool reshards = c_.flag(reshard).value_or(usual);
    c_.plan.sharding.reshard_after_forward.kind =
        reshards ? ReshardAfterForward::Kind::yes : ReshardAfterForward::Kind::no;
    c_.carry(reshard, {"sharding.reshard_after_forward"});
    if (has_option("hybrid_shard") || has_option("hybrid_shard_zero2")) {
      c_.wrong("fsdp", "full_shard or shard_grad_op under FSDP 2, or fsdp_config.version = 1");
    }
    set_aside(kOfFsdp1);
  }

  void read_layer_classes() {
    const std::string path = key("transformer_layer_cls_to_wrap");
    const Value* value = c_.find(path);
    if (value == nullptr) {
      return c_.carry(path, {"wrap.layer_class"}, "the model's _no_split_modules");
    }
    std::vector<std::string>& classes = c_.plan.wrap.layer_class = words_of(*value, ",");
    if (classes.empty() || !std::all_of(classes.begin(), classes.end(), is_class_name)) {
      return c_.wrong(path, "names of classes, separated by commas");
    }
    const bool has_llama = std::find(classes.begin(), classes.end(), kLlamaBlock) != classes.end();
    c_.carry(path, {"wrap.layer_class"},
             has_llama ? "" : "the models here are Llamas, whose blocks are LlamaDecoderLayer");
  }

  void read_wrapping(bool is_fsdp2) {
    const std::string policy = key("auto_wrap_policy"), size = key("min_num_params");
    c_.plan.wrap.policy =
        c_.choice<WrapPolicy>(policy, {{"TRANSFORMER_BASED_WRAP", WrapPolicy::transformer},
                                       {"SIZE_BASED_WRAP", WrapPolicy::size},
                                       {"NO_WRAP", WrapPolicy::none}})
            .value_or(source_.is_trainer ? WrapPolicy::transformer : WrapPolicy::none);
    const bool is_by_size = c_.plan.wrap.policy == WrapPolicy::size;
    c_.carry(policy, {"wrap.policy"},
             is_fsdp2 ? "since 1.14, Accelerate also makes the embedding and [norm, lm_head] units "
                        "of their own, and keeps the latter after forward: wrap.policy \"modules\" "
                        "can express it"
                      : "");
    if (c_.plan.wrap.policy == WrapPolicy::transformer) {
      read_layer_classes();
    } else {
      c_.set_aside({key("transformer_layer_cls_to_wrap")});
    }
    if (!is_by_size) return c_.set_aside({size});
    c_.take(size, c_.plan.wrap.min_num_params, {0, 1'000'000'000'000'000},
            source_.is_trainer ? 0 : 100'000'000, "wrap.min_num_params");
    if (c_.plan.wrap.min_num_params == 0) {
      c_.plan.wrap.policy = WrapPolicy::none;
    } else if (is_fsdp2) {
      c_.drop(policy,
              "under FSDP 2, Accelerate wraps every module with more parameters than that, also "
              "inside one another; the plan has PyTorch's rule");
    }
  }

  void read_checkpointing(bool is_fsdp2) {
    const std::string path = key("activation_checkpointing");
    CheckpointPlan& checkpointing = c_.plan.checkpointing;
    if (!c_.flag(path).value_or(false)) {
      if (checkpointing.mode == CheckpointMode::none) c_.carry(path, {"checkpointing.mode"});
      return;
    }
    checkpointing.mode = CheckpointMode::full;
    c_.plan.pytorch.checkpoint_early_stop = true;
    c_.carry(path, {"checkpointing.mode", "pytorch.checkpoint_early_stop"});
    if (c_.plan.wrap.policy == WrapPolicy::none) {
      c_.drop(path,
              "without a wrapping policy, Accelerate checkpoints every module inside every other; "
              "the plan checkpoints whole blocks");
    } else if (is_fsdp2) {
      c_.drop(path,
              "under FSDP 2, Accelerate checkpoints each child of a block by itself (attention, "
              "MLP, norms), which keeps their inputs too; the plan checkpoints whole blocks");
    }
  }

  Conversion& c_;
  const FsdpSource& source_;
};

}  // namespace

int read_fsdp(Conversion& c, const FsdpSource& source) {
  return FsdpConfig(c, source).read();
}

void read_mixed_precision(Conversion& c, std::string_view key, Mixed mixed, bool is_ddp) {
  const bool is_mixed = mixed != Mixed::no;
  PrecisionPlan& precision = c.plan.precision;
  precision.param = is_mixed ? DType::bf16 : precision.storage;
  precision.reduce = is_mixed && is_ddp ? precision.storage : precision.param;
  c.plan.pytorch.autocast = is_mixed ? Autocast::bf16 : Autocast::none;
  c.carry(key, {"precision.param", "precision.reduce", "pytorch.autocast"},
          is_mixed && is_ddp ? "parameters and gradients keep their type; operators cast" : "");
  if (mixed == Mixed::fp16) {
    c.drop(key, kNoFp16);
  } else if (mixed == Mixed::fp8) {
    c.drop(key, "the 8-bit products are left out; gathers, reductions and products are bf16");
  }
}

void imply_transformers(Conversion& c) {
  PyTorchPlan& pytorch = c.plan.pytorch;
  pytorch.implementation = ImplementationName::transformers;
  pytorch.rope = RopeArithmetic::half;
  pytorch.loop = TrainingLoop::trainer;
  pytorch.setup = ModelSetup::host;
  c.imply({"pytorch.implementation", "pytorch.rope"}, "the models of transformers");
  c.imply({"pytorch.loop"}, "the step of transformers' Trainer on Accelerate");
  c.imply({"pytorch.setup"}, "from_pretrained builds the model on the CPU");
}

void read_data_parallel(Conversion& c, std::string_view key) {
  c.plan.runtime = RuntimeName::ddp;
  c.plan.sharding.strategy = Strategy::no_shard;
  c.plan.wrap.policy = WrapPolicy::none;
  c.carry(key, {"runtime", "sharding.strategy", "wrap.policy"});
}

void read_accumulation(Conversion& c, std::optional<std::int64_t> fallback) {
  c.take("gradient_accumulation_steps", c.plan.batch.accumulation, {1, kMaxAccumulation}, fallback,
         "batch.accumulation");
  if (c.plan.batch.accumulation > 1) {
    c.plan.batch.gradient_sync = When::last;
    c.imply({"batch.gradient_sync"}, "Accelerate reduces gradients in the last micro-step only");
  }
}

void read_mesh(Conversion& c) {
  const auto key = [&](std::string_view name) {
    const std::string bare = "parallelism_config." + std::string(name);
    return c.has(bare) ? bare : "parallelism_config.parallelism_config_" + std::string(name);
  };
  const std::string replicas = key("dp_replicate_size"), shards = key("dp_shard_size");
  const std::int64_t copies = c.integer(replicas, {1, kMaxRanks}).value_or(1);
  const std::int64_t group = c.integer(shards, {1, kMaxRanks}).value_or(1);
  if (copies > 1) {
    c.plan.sharding.strategy = Strategy::hybrid_shard;
    c.plan.sharding.shard_group = group;
    c.carry(replicas, {"sharding.strategy"});
    c.carry(shards, {"sharding.shard_group"});
  } else {
    c.set_aside({replicas, shards});
  }
  for (const Limit& limit : kMeshLimits) c.limit({key(limit.key), limit.usual, limit.why});
  for (const std::string_view name : each(kMeshNoEffect)) c.set_aside({key(name)});
}

}  // namespace foreshard::foreign
