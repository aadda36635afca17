#include "models/plan/foreign/deepspeed_config.hpp"

namespace foreshard::foreign {
namespace {

constexpr std::string_view kSection = "zero_optimization.";
constexpr std::string_view kQuantized =
    "a plan has no 8-bit communication; this one moves 16 or 32 bits";
constexpr std::string_view kBuckets =
    "ZeRO's buckets and its live parameters are not FSDP's; the plan has FSDP's buffers";

// Sizes, which have an effect with every value.
constexpr Names kSizes = "reduce_bucket_size allgather_bucket_size";
constexpr Names kSizesOfStage3 =
    "stage3_prefetch_bucket_size prefetch_bucket_size stage3_param_persistence_threshold "
    "param_persistence_threshold stage3_model_persistence_threshold "
    "model_persistence_threshold stage3_max_live_parameters max_live_parameters "
    "stage3_max_reuse_distance max_reuse_distance sub_group_size "
    "stage3_module_granularity_threshold";

constexpr Limit kLimits[] = {
    {"overlap_comm", "true", "FSDP overlaps communication always"},
    {"contiguous_gradients", "true", kBuckets},
    {"zenflow", "", "a plan has no ZenFlow"},
    {"use_multi_rank_bucket_allreduce", "true", kBuckets},
};
constexpr Limit kLimitsOfStages1And2[] = {
    {"reduce_scatter", "true", "FSDP reduces by reduce-scatter"},
    {"allgather_partitions", "true", "FSDP gathers by all-gather"},
    {"round_robin_gradients", "", "each rank copies other gradients to the host first"},
};
constexpr Limit kLimitsOfStage3[] = {
    {"zero_quantized_weights", "", kQuantized},
    {"zero_quantized_gradients", "", kQuantized},
    {"zero_quantized_nontrainable_weights", "", kQuantized},
    {"zeropp_loco_param", "", kQuantized},
    {"leaf_module", "", "the plan gathers blocks"},
    {"mics_hierarchical_params_gather", "", "a plan gathers in one step"},
    {"stage3_use_all_reduce_for_fetch_params", "", "a plan gathers by all-gather"},
    {"stage3_allgather_sequential", "", "a plan gathers a block's parameters together"},
    {"memory_efficient_linear", "true",
     "without it PyTorch's linear layers keep gathered weights for backward"},
};
constexpr Names kNoEffect =
    "stage3_gather_16bit_weights_on_model_save gather_16bit_weights_on_model_save "
    "stage3_gather_fp16_weights_on_model_save load_from_fp32_weights elastic_checkpoint "
    "ignore_unused_parameters legacy_stage1 override_module_apply pipeline_loading_checkpoint "
    "log_trace_cache_warnings enable_sanity_checks save_muon_momentum_buffer_in_memory";
constexpr Names kOffloadNoEffect =
    "nvme_path buffer_count buffer_size max_in_cpu fast_init pipeline_read pipeline_write "
    "pipeline cpuadam_cores_perc";
constexpr Limit kOffloadLimits[] = {
    {"ratio", "1", "a plan offloads all states or none"},
    {"super_offload", "", "a plan has no SuperOffload"},
};

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
}

void set_aside(Conversion& c, std::span<const Limit> limits) {
  for (const Limit& limit : limits) c.set_aside({std::string(kSection) + std::string(limit.key)});
}

// Keys of a stage that is not this one have no effect.
void read_details(Conversion& c, std::int64_t stage) {
  const auto drop = [&](Names sizes) {
    for (const std::string_view name : each(sizes)) {
      c.drop(std::string(kSection) + std::string(name), std::string(kBuckets));
    }
  };
  drop(kSizes);
  c.limit(kLimits, kSection);
  if (stage == 3) {
    drop(kSizesOfStage3);
    c.limit(kLimitsOfStage3, kSection);
    set_aside(c, kLimitsOfStages1And2);
  } else {
    c.limit(kLimitsOfStages1And2, kSection);
    c.set_aside(kSizesOfStage3, kSection);
    c.set_aside({"zero_optimization.zero_hpz_partition_size", "zero_optimization.mics_shard_size"});
    set_aside(c, kLimitsOfStage3);
  }
  c.set_aside(kNoEffect, kSection);
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

// What stage 3 alone reads, and what stage 0 does not.
void read_offload(Conversion& c, std::int64_t stage) {
  OffloadPlan& offload = c.plan.offload;
  const std::string states = "zero_optimization.offload_optimizer";
  const std::string parameters = "zero_optimization.offload_param";
  const std::string old_states = "zero_optimization.cpu_offload";
  const std::string old_parameters =
      c.first_of({"zero_optimization.cpu_offload_params", "zero_optimization.cpu_offload_param"});
  const Device of_states = offload_device(c, states, old_states);
  const Device of_parameters = offload_device(c, parameters, old_parameters);
  const std::string states_key = c.has(old_states) ? old_states : states + ".device";
  const std::string parameters_key =
      c.has(old_parameters) ? old_parameters : parameters + ".device";
  offload.optimizer = stage > 0 && of_states != Device::none;
  offload.parameters = stage == 3 && of_parameters != Device::none && offload.optimizer;
  c.carry(states_key, {"offload.optimizer"},
          stage == 0 && of_states != Device::none ? "stage 0 does not read it" : "");
  if (stage < 3) {
    c.carry(parameters_key, {"offload.parameters"},
            of_parameters == Device::none ? "" : "DeepSpeed reads it at stage 3 only");
  } else if (of_parameters != Device::none && !offload.optimizer) {
    c.drop(parameters_key,
           "with parameters on the host a plan has the optimizer there too; this one keeps both on "
           "the device");
  } else {
    c.carry(parameters_key, {"offload.parameters"});
  }
  const std::string nvme = "a plan has no NVMe: it keeps them in the host's memory";
  if (offload.optimizer && of_states == Device::nvme) c.drop(states_key, nvme);
  if (offload.parameters && of_parameters == Device::nvme) c.drop(parameters_key, nvme);
  for (const std::string& section : {states, parameters}) {
    c.set_aside(kOffloadNoEffect, section + ".");
    c.find(section + ".pin_memory");
  }
  if (offload.optimizer) {
    const std::string pin = states + ".pin_memory";
    offload.pin_memory =
        c.flag(c.has(old_states) ? "zero_optimization.cpu_offload_use_pin_memory" : pin)
            .value_or(false);
    c.carry(pin, {"offload.pin_memory"});
    c.limit(kOffloadLimits, states + ".");
  } else {
    c.set_aside({states + ".ratio", states + ".super_offload", states + ".pin_memory"});
  }
  c.set_aside({"zero_optimization.cpu_offload_use_pin_memory", "aio"});
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
  read_details(c, stage);
  read_offload(c, stage);
  return stage;
}

}  // namespace foreshard::foreign
