// Accelerate's configuration file ("accelerate config"), for FSDP 1 and 2, DeepSpeed and plain data
// parallelism.
#include "models/plan/foreign/deepspeed_config.hpp"
#include "models/plan/foreign/fsdp_config.hpp"

namespace foreshard::foreign {
namespace {

constexpr Limit kLimits[] = {
    {"use_cpu", "", "trains on the CPU; the plan is that of the same run on a GPU"},
    {"compute_environment", "LOCAL_MACHINE", "the plan is that of one's own machines"},
    {"fp8_config", "", "the 8-bit products are left out"},
    {"megatron_lm_config", "", "a plan has no Megatron-LM"},
};
constexpr Names kNoEffect =
    "debug machine_rank main_process_ip main_process_port main_training_function rdzv_backend "
    "same_network gpu_ids downcast_bf16 enable_cpu_affinity enable_numa_affinity tpu_name "
    "tpu_zone tpu_env tpu_vm tpu_use_cluster tpu_use_sudo command_file commands mpirun_config";
constexpr Names kDeepSpeedNoEffect =
    "zero3_init_flag zero3_save_16bit_model deepspeed_multinode_launcher deepspeed_hostfile "
    "deepspeed_exclusion_filter deepspeed_inclusion_filter deepspeed_moe_layer_cls_names "
    "seq_parallel_communication_data_type";

void read_job(Conversion& c) {
  const auto ranks = c.integer("num_processes", {-1, kMaxRanks});
  if (ranks && *ranks >= 1) c.name_ranks("num_processes", *ranks);  // -1: given when launched
  c.facts.nodes = c.integer("num_machines", {1, kMaxRanks});
  c.limit(kLimits);
  c.set_aside(kNoEffect);
}

Mixed mixed_precision(Conversion& c) {
  return c
      .choice<Mixed>("mixed_precision", {{"no", Mixed::no},
                                         {"false", Mixed::no},
                                         {"bf16", Mixed::bf16},
                                         {"fp16", Mixed::fp16},
                                         {"fp8", Mixed::fp8}})
      .value_or(Mixed::no);
}

// "INDUCTOR" compiles; other backends run eagerly or are no longer there.
void read_compilation(Conversion& c) {
  c.plan.operators = OperatorSetName::pytorch_eager;
  const std::string section = "dynamo_config.";
  const std::string key =
      c.first_of({"dynamo_backend", "dynamo_config.dynamo_backend", "dynamo_config.backend"});
  const auto backend = c.string(key);
  const std::string regional = section + "dynamo_use_regional_compilation";
  const std::string mode = section + "dynamo_mode";
  c.set_aside({section + "dynamo_use_fullgraph", section + "dynamo_use_dynamic"});
  if (!backend || equal_but_for_case(*backend, "NO")) {
    c.carry(key, {"operators"});
    return c.set_aside({regional, mode});
  }
  if (!equal_but_for_case(*backend, "INDUCTOR")) {
    c.set_aside({regional, mode});
    return c.drop(key,
                  "only the backend INDUCTOR is described; the plan has PyTorch's eager operators");
  }
  c.plan.operators = OperatorSetName::pytorch_compile;
  const bool is_regional = c.flag(regional).value_or(false);
  c.plan.pytorch.compile = is_regional ? CompileScope::blocks : CompileScope::model;
  c.carry(key, {"operators"});
  c.carry(regional, {"pytorch.compile"});
  c.limit({mode, "default", kCompileMode});
}

// The few keys of DeepSpeed's that Accelerate takes, under names of its own.
std::int64_t read_deepspeed(Conversion& c) {
  const std::string section = "deepspeed_config.";
  c.allow_auto();
  if (const std::string file = section + "deepspeed_config_file"; c.has(file)) {
    c.wrong(file, "settings in this file; give the DeepSpeed configuration itself instead");
  }
  c.rename("zero_optimization.stage", section + "zero_stage");
  c.rename("zero_optimization.offload_optimizer.device", section + "offload_optimizer_device");
  c.rename("zero_optimization.offload_param.device", section + "offload_param_device");
  c.rename("zero_optimization.offload_optimizer.nvme_path",
           section + "offload_optimizer_nvme_path");
  c.rename("zero_optimization.offload_param.nvme_path", section + "offload_param_nvme_path");
  c.take(section + "gradient_accumulation_steps", c.plan.batch.accumulation, {1, kMaxAccumulation},
         1, "batch.accumulation");
  const std::int64_t stage = read_zero(c, 2);
  const std::string clipping = section + "gradient_clipping";
  if (!c.is_auto(clipping) && c.has(clipping) && c.find(clipping)->kind == Value::Kind::string) {
    c.leave_unsaid({"optimizer.clip_grad_norm"});  // "none"
  } else {
    c.take(clipping, c.plan.optimizer.clip_grad_norm, {0, 1e30}, std::nullopt,
           "optimizer.clip_grad_norm");
  }
  c.set_aside(kDeepSpeedNoEffect, section);
  return stage;
}

}  // namespace

Result<ConvertedPlan> accelerate_plan(Source source) {
  enum class Kind : std::uint8_t { fsdp, ddp, deepspeed };
  Conversion c(std::move(source));
  const std::string_view kind_key = "distributed_type";
  const auto given = c.choice<Kind>(
      kind_key, {{"FSDP", Kind::fsdp}, {"MULTI_GPU", Kind::ddp}, {"DEEPSPEED", Kind::deepspeed}});
  if (!given) c.wrong(kind_key, "FSDP, MULTI_GPU or DEEPSPEED");
  const Kind kind = given.value_or(Kind::fsdp);

  read_job(c);
  read_compilation(c);
  imply_transformers(c);
  read_mixed_precision(c, "mixed_precision", mixed_precision(c), kind == Kind::ddp);
  c.imply({"precision.storage"}, "Accelerate keeps the parameters in fp32");
  std::string origin = "Accelerate configuration (data parallel)";
  if (kind == Kind::fsdp) {
    read_accumulation(c, std::nullopt);
    const int version = read_fsdp(c, {});
    if (version == 2) read_mesh(c);
    origin = "Accelerate FSDP " + std::to_string(version) + " configuration";
    c.set_aside({"deepspeed_config"});
  } else if (kind == Kind::deepspeed) {
    c.plan.pytorch.autocast = Autocast::none;  // DeepSpeed casts the model itself
    read_mesh(c);
    const std::int64_t stage = read_deepspeed(c);
    origin = "Accelerate configuration (DeepSpeed ZeRO " + std::to_string(stage) + ")";
    c.set_aside({"fsdp_config"});
  } else {
    read_accumulation(c, std::nullopt);
    read_data_parallel(c, kind_key);
    c.set_aside({"fsdp_config", "deepspeed_config"});
  }
  c.plan.optimizer.kernel = OptimizerKernel::foreach;
  c.leave_unsaid({"batch.micro_batch", "batch.sequence", "optimizer.name", "optimizer.kernel",
                  "optimizer.lr"});
  if (kind != Kind::deepspeed) c.leave_unsaid({"optimizer.clip_grad_norm"});
  return c.finish(origin);
}

}  // namespace foreshard::foreign
