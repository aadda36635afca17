#include "models/plan/foreign/deepspeed_zero.hpp"

namespace foreshard::foreign {
namespace {

const std::string kBuckets =
    "ZeRO's buckets and its live parameters are not FSDP's; the plan has FSDP's buffers";

void read_groups(Conversion& c) {
  const std::string_view hpz = "zero_optimization.zero_hpz_partition_size";
  const std::string_view mics = "zero_optimization.mics_shard_size";
  const std::int64_t secondary = c.integer(hpz, {0, kMaxRanks}).value_or(1);
  if (secondary > 1) {
    c.plan.sharding.reshard_after_forward = {ReshardAfterForward::Kind::group, secondary};
    c.carry(hpz, {"sharding.reshard_after_forward"},
            "after forward, parameters stay sharded over so many ranks");
  }
  const std::int64_t group = c.integer(mics, {-1, kMaxRanks}).value_or(-1);
  if (group > 1) {
    c.plan.sharding.strategy = Strategy::hybrid_shard;
    c.plan.sharding.shard_group = group;
    c.carry(mics, {"sharding.strategy", "sharding.shard_group"});
  }
  c.set_aside({hpz, mics});
}

void read_stage(Conversion& c, std::int64_t stage) {
  const std::string_view key = "zero_optimization.stage";
  ShardingPlan& sharding = c.plan.sharding;
  const bool accumulates = c.plan.batch.accumulation > 1;
  if (stage == 0) {
    c.plan.runtime = RuntimeName::ddp;
    sharding.strategy = Strategy::no_shard;
    c.plan.wrap.policy = WrapPolicy::none;
    c.carry(key, {"runtime", "sharding.strategy", "wrap.policy"},
            "approximately: DeepSpeed all-reduces in buckets of its own");
  } else if (stage == 3) {
    c.carry(key, {"runtime", "sharding.strategy", "wrap.policy", "wrap.layer_class"},
            "approximately: parameters, gradients and states sharded, as in FSDP, which gathers a "
            "block at a time");
    read_groups(c);
  } else {
    sharding.strategy = Strategy::shard_grad_op;
    c.carry(key, {"runtime", "sharding.strategy", "wrap.policy", "wrap.layer_class"},
            stage == 1 ? "approximately: states sharded; gradients, which ZeRO 1 keeps whole, are "
                         "sharded in the plan, and so are parameters between steps"
                       : "approximately: states and gradients sharded; parameters, which ZeRO 2 "
                         "keeps whole, are sharded in the plan between steps");
    if (accumulates) {
      sharding.reshard_after_backward = When::last;
      c.imply({"sharding.reshard_after_backward"},
              "ZeRO 1 and 2 gather parameters once, after the optimizer's step");
    }
  }
  if (stage < 2 && accumulates) {
    c.plan.batch.gradient_sync = When::last;
    c.imply({"batch.gradient_sync"}, "gradients are reduced in the last micro-step only");
  }
  if (stage < 3) {
    c.set_aside({"zero_optimization.zero_hpz_partition_size", "zero_optimization.mics_shard_size"});
  }
}

void read_zero_details(Conversion& c) {
  const auto key = [](const char* name) { return std::string("zero_optimization.") + name; };
  for (const char* name :
       {"reduce_bucket_size", "allgather_bucket_size", "stage3_prefetch_bucket_size",
        "prefetch_bucket_size", "stage3_param_persistence_threshold", "param_persistence_threshold",
        "stage3_model_persistence_threshold", "stage3_max_live_parameters", "max_live_parameters",
        "stage3_max_reuse_distance", "max_reuse_distance", "sub_group_size",
        "stage3_module_granularity_threshold"}) {
    c.drop(key(name), kBuckets);
  }
  c.drop_unless(key("overlap_comm"), "true", "FSDP overlaps communication always");
  c.drop_unless(key("contiguous_gradients"), "true", kBuckets);
  c.drop_unless(key("reduce_scatter"), "true", "FSDP reduces by reduce-scatter");
  c.drop_unless(key("allgather_partitions"), "true", "FSDP gathers by all-gather");
  const std::string quantized = "a plan has no 8-bit communication; this one moves 16 or 32 bits";
  c.drop_if_set(key("zero_quantized_weights"), quantized);
  c.drop_if_set(key("zero_quantized_gradients"), quantized);
  c.drop_if_set(key("zero_quantized_nontrainable_weights"), quantized);
  c.drop(key("zeropp_loco_param"), quantized);
  c.drop(key("zenflow"), "a plan has no ZenFlow");
  c.drop(key("leaf_module"), "the plan gathers blocks");
  c.drop_if_set(key("mics_hierarchical_params_gather"), "a plan gathers in one step");
  for (const char* name : {"overlap_comm",
                           "contiguous_gradients",
                           "reduce_scatter",
                           "allgather_partitions",
                           "zero_quantized_weights",
                           "zero_quantized_gradients",
                           "zero_quantized_nontrainable_weights",
                           "stage3_gather_16bit_weights_on_model_save",
                           "gather_16bit_weights_on_model_save",
                           "stage3_gather_fp16_weights_on_model_save",
                           "load_from_fp32_weights",
                           "elastic_checkpoint",
                           "ignore_unused_parameters",
                           "round_robin_gradients",
                           "legacy_stage1",
                           "use_multi_rank_bucket_allreduce",
                           "stage3_use_all_reduce_for_fetch_params",
                           "stage3_allgather_sequential",
                           "memory_efficient_linear",
                           "override_module_apply",
                           "pipeline_loading_checkpoint",
                           "log_trace_cache_warnings",
                           "enable_sanity_checks",
                           "save_muon_momentum_buffer_in_memory",
                           "mics_hierarchical_params_gather"}) {
    c.set_aside({key(name)});
  }
}

enum class Device : std::uint8_t { none, cpu, nvme };

// Under its present name or the one it had before 2021.
Device offload_device(Conversion& c, const std::string& section, const std::string& old_name) {
  if (c.flag(old_name).value_or(false)) return Device::cpu;
  return c
      .choice<Device>(section + ".device",
                      {{"none", Device::none}, {"cpu", Device::cpu}, {"nvme", Device::nvme}})
      .value_or(Device::none);
}

void read_offload(Conversion& c) {
  OffloadPlan& offload = c.plan.offload;
  const std::string states = "zero_optimization.offload_optimizer";
  const std::string parameters = "zero_optimization.offload_param";
  const std::string old_states = "zero_optimization.cpu_offload";
  const std::string old_parameters = c.has("zero_optimization.cpu_offload_params")
                                         ? "zero_optimization.cpu_offload_params"
                                         : "zero_optimization.cpu_offload_param";
  const Device of_states = offload_device(c, states, old_states);
  const Device of_parameters = offload_device(c, parameters, old_parameters);
  offload.optimizer = of_states != Device::none;
  offload.parameters = of_parameters != Device::none;
  c.carry(c.has(old_states) ? old_states : states + ".device", {"offload.optimizer"});
  c.carry(c.has(old_parameters) ? old_parameters : parameters + ".device", {"offload.parameters"},
          offload.parameters && !offload.optimizer
              ? "as in FSDP, gradients and the optimizer are on the host with them"
              : "");
  const std::string nvme = "a plan has no NVMe: it keeps them in the host's memory";
  if (of_states == Device::nvme) c.drop(states + ".device", nvme);
  if (of_parameters == Device::nvme) c.drop(parameters + ".device", nvme);
  bool is_pinned = true;
  for (const std::string& section : {states, parameters}) {
    const std::string pin = section + ".pin_memory";
    if (const auto pinned = c.flag(pin); pinned && c.has(section + ".device")) {
      is_pinned = is_pinned && *pinned;
    }
    c.set_aside({section + ".nvme_path", section + ".buffer_count", section + ".buffer_size",
                 section + ".max_in_cpu", section + ".fast_init", section + ".pipeline_read",
                 section + ".pipeline_write", section + ".pipeline",
                 section + ".cpuadam_cores_perc", pin});
  }
  if (offload.optimizer || offload.parameters) {
    offload.pin_memory = is_pinned;
    c.carry((offload.optimizer ? states : parameters) + ".pin_memory", {"offload.pin_memory"});
  }
  c.drop_unless(states + ".ratio", "1", "a plan offloads all states or none");
  c.drop_if_set(states + ".super_offload", "a plan has no SuperOffload");
  c.set_aside({"zero_optimization.cpu_offload_use_pin_memory", states + ".ratio",
               states + ".super_offload", "aio"});
}

}  // namespace

std::int64_t read_zero(Conversion& c, std::int64_t usual_stage) {
  const std::string_view section = "zero_optimization";
  const std::string_view key = "zero_optimization.stage";
  if (c.is_flag(section)) {  // before 2020
    usual_stage = c.flag(section).value_or(false) ? 1 : 0;
    c.rename(std::string(key), std::string(section));
    read_stage(c, usual_stage);
    return usual_stage;
  }
  const std::int64_t stage = c.integer(key, {0, 3}).value_or(usual_stage);
  if (c.is_auto(key)) c.wrong(key, "an integer from 0 to 3");
  read_stage(c, stage);
  read_zero_details(c);
  read_offload(c);
  return stage;
}

}  // namespace foreshard::foreign
