#include "models/plan/foreign/accelerate_fsdp.hpp"

#include <algorithm>

namespace foreshard::foreign {
namespace {

constexpr std::string_view kLlamaBlock = "LlamaDecoderLayer";

// Keys of fsdp_config may be written with or without their prefix.
std::string fsdp_key(const Conversion& c, const std::string& name) {
  const std::string bare = "fsdp_config." + name;
  return c.has(bare) ? bare : "fsdp_config.fsdp_" + name;
}

bool is_class_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void read_layer_classes(Conversion& c) {
  const std::string key = fsdp_key(c, "transformer_layer_cls_to_wrap");
  const Value* value = c.find(key);
  std::vector<std::string>& classes = c.plan.wrap.layer_class;
  if (value == nullptr) {
    return c.carry(key, {"wrap.layer_class"}, "the model's _no_split_modules");
  }
  classes.clear();
  if (value->kind == Value::Kind::list) {
    for (const Value& item : value->items) classes.push_back(item.text);
  } else {
    for (std::size_t at = 0; at <= value->text.size();) {
      const std::size_t comma = std::min(value->text.find(',', at), value->text.size());
      const std::size_t first = std::min(value->text.find_first_not_of(' ', at), comma);
      const std::size_t last = value->text.find_last_not_of(' ', comma - 1) + 1;
      classes.push_back(first < last ? value->text.substr(first, last - first) : "");
      at = comma + 1;
    }
  }
  if (classes.empty() || !std::all_of(classes.begin(), classes.end(), is_class_name)) {
    return c.wrong(key, "names of classes, separated by commas");
  }
  const bool has_llama = std::find(classes.begin(), classes.end(), kLlamaBlock) != classes.end();
  c.carry(key, {"wrap.layer_class"},
          has_llama ? "" : "the models here are Llamas, whose blocks are LlamaDecoderLayer");
}

void read_wrapping(Conversion& c, bool is_fsdp2) {
  const std::string key = fsdp_key(c, "auto_wrap_policy");
  const std::string size = fsdp_key(c, "min_num_params");
  c.plan.wrap.policy =
      c.choice<WrapPolicy>(key, {{"TRANSFORMER_BASED_WRAP", WrapPolicy::transformer},
                                 {"SIZE_BASED_WRAP", WrapPolicy::size},
                                 {"NO_WRAP", WrapPolicy::none}})
          .value_or(WrapPolicy::none);
  const bool is_by_size = c.plan.wrap.policy == WrapPolicy::size;
  c.carry(
      key, {"wrap.policy"},
      is_fsdp2
          ? "since 1.14, Accelerate also makes the embedding and [norm, lm_head] units of "
            "their own, and keeps the latter after forward: wrap.policy \"modules\" can express it"
          : "");
  if (c.plan.wrap.policy == WrapPolicy::transformer) {
    read_layer_classes(c);
  } else {
    c.set_aside({fsdp_key(c, "transformer_layer_cls_to_wrap")});
  }
  if (!is_by_size) return c.set_aside({size});
  c.take(size, c.plan.wrap.min_num_params, {0, 1'000'000'000'000'000}, 100'000'000,
         "wrap.min_num_params");
  if (c.plan.wrap.min_num_params == 0) {
    c.plan.wrap.policy = WrapPolicy::none;
  } else if (is_fsdp2) {
    c.drop(key,
           "under FSDP 2, Accelerate wraps every module with more parameters than that, also "
           "inside one another; the plan has PyTorch's rule");
  }
}

void read_checkpointing(Conversion& c, bool is_fsdp2) {
  const std::string key = fsdp_key(c, "activation_checkpointing");
  const bool is_on = c.flag(key).value_or(false);
  if (!is_on) return c.carry(key, {"checkpointing.mode"});
  c.plan.checkpointing.mode = CheckpointMode::full;
  c.plan.pytorch.checkpoint_early_stop = true;
  c.carry(key, {"checkpointing.mode", "pytorch.checkpoint_early_stop"});
  if (c.plan.wrap.policy == WrapPolicy::none) {
    c.drop(key,
           "without a wrapping policy, Accelerate checkpoints every module inside every other; "
           "the plan checkpoints whole blocks");
  } else if (is_fsdp2) {
    c.drop(key,
           "under FSDP 2, Accelerate checkpoints each child of a block by itself (attention, "
           "MLP, norms), which keeps their inputs too; the plan checkpoints whole blocks");
  }
}

void read_offload(Conversion& c) {
  c.take(fsdp_key(c, "offload_params"), c.plan.offload.parameters, false, "offload.parameters");
}

// A number counts from 1, in the order of PyTorch's enumeration.
std::optional<Strategy> strategy_at(Conversion& c, const std::string& key) {
  return c.choice<Strategy>(key, {{"FULL_SHARD", Strategy::full_shard},
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

void read_fsdp1(Conversion& c) {
  c.plan.runtime = RuntimeName::fsdp1;
  const std::string strategy = fsdp_key(c, "sharding_strategy");
  const std::string reshard = fsdp_key(c, "reshard_after_forward");
  c.plan.sharding.strategy = strategy_at(c, strategy).value_or(Strategy::full_shard);
  const bool agrees = strategy_at(c, reshard) == c.plan.sharding.strategy;
  c.carry(agrees && !c.has(strategy) ? reshard : strategy, {"sharding.strategy"});
  if (c.has(reshard) && !agrees) {
    c.drop(reshard,
           "under FSDP 1, accelerate launch goes by fsdp_sharding_strategy, FULL_SHARD "
           "where it is not written; write the strategy there");
  }

  const std::string old_backward = fsdp_key(c, "backward_prefetch_policy");  // until 2024
  const std::string backward =
      c.has(old_backward) ? old_backward : fsdp_key(c, "backward_prefetch");
  c.plan.prefetch.backward_prefetch =
      c.choice<BackwardPrefetch>(backward, {{"BACKWARD_PRE", BackwardPrefetch::pre},
                                            {"BACKWARD_POST", BackwardPrefetch::post},
                                            {"NO_PREFETCH", BackwardPrefetch::none},
                                            {"1", BackwardPrefetch::pre},
                                            {"2", BackwardPrefetch::post}})
          .value_or(BackwardPrefetch::none);
  c.carry(backward, {"prefetch.backward_prefetch"});
  c.take(fsdp_key(c, "forward_prefetch"), c.plan.prefetch.forward_prefetch, false,
         "prefetch.forward_prefetch");
  c.take(fsdp_key(c, "use_orig_params"), c.plan.pytorch.use_orig_params, true,
         "pytorch.use_orig_params");
  c.take(fsdp_key(c, "limit_all_gathers"), c.plan.prefetch.limit_all_gathers, true,
         "prefetch.limit_all_gathers");
  if (c.plan.precision.param == DType::bf16) {
    c.imply({}, "FSDP 1 also casts buffers to bf16, which the plan leaves out: they are small");
  }
}

void read_fsdp2(Conversion& c) {
  c.plan.runtime = RuntimeName::fsdp2;
  const std::string reshard = fsdp_key(c, "reshard_after_forward");
  const bool reshards = c.flag(reshard).value_or(true);
  c.plan.sharding.reshard_after_forward.kind =
      reshards ? ReshardAfterForward::Kind::yes : ReshardAfterForward::Kind::no;
  c.carry(reshard, {"sharding.reshard_after_forward"});
  const std::string why = "a setting of FSDP 1, which Accelerate does not read under FSDP 2";
  for (const char* name :
       {"sharding_strategy", "backward_prefetch", "backward_prefetch_policy", "forward_prefetch"}) {
    c.drop(fsdp_key(c, name), why);
  }
  c.set_aside({fsdp_key(c, "use_orig_params")});
}

}  // namespace

void read_mesh(Conversion& c) {
  const auto key = [&](const std::string& name) {
    const std::string bare = "parallelism_config." + name;
    return c.has(bare) ? bare : "parallelism_config.parallelism_config_" + name;
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
  c.drop_degree(key("tp_size"), "a plan has no tensor parallelism");
  c.drop_degree(key("cp_size"), "a plan has no context parallelism");
  c.drop_degree(key("sp_size"), "a plan has no sequence parallelism");
  c.set_aside({key("cp_backend"), key("cp_comm_strategy"), key("sp_backend"), key("sp_seq_length"),
               key("sp_seq_length_is_variable"), key("sp_attn_implementation")});
}

int read_fsdp(Conversion& c) {
  const std::string version = fsdp_key(c, "version");
  const bool is_fsdp2 = c.integer(version, {1, 2}).value_or(1) == 2;
  is_fsdp2 ? read_fsdp2(c) : read_fsdp1(c);
  c.carry(version, {"runtime"});
  if (is_fsdp2) read_mesh(c);
  read_wrapping(c, is_fsdp2);
  read_offload(c);
  read_checkpointing(c, is_fsdp2);
  c.drop(fsdp_key(c, "ignored_modules"), "a plan shards every module");
  c.set_aside({fsdp_key(c, "state_dict_type"), fsdp_key(c, "cpu_ram_efficient_loading"),
               fsdp_key(c, "sync_module_states")});
  return is_fsdp2 ? 2 : 1;
}

}  // namespace foreshard::foreign
