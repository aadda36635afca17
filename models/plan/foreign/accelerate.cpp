// Accelerate's configuration file ("accelerate config"), for FSDP 1 and 2, DeepSpeed and plain data
// parallelism.
#include "models/plan/foreign/accelerate_fsdp.hpp"
#include "models/plan/foreign/deepspeed_zero.hpp"

namespace foreshard::foreign {
namespace {

void read_job(Conversion& c) {
  c.facts.ranks = c.integer("num_processes", {-1, kMaxRanks});
  if (c.facts.ranks && *c.facts.ranks < 1) c.facts.ranks.reset();  // -1: given when launched
  c.facts.nodes = c.integer("num_machines", {1, kMaxRanks});
  c.drop_if_set("use_cpu", "trains on the CPU; the plan is that of the same run on a GPU");
  c.drop_unless("compute_environment", "LOCAL_MACHINE", "the plan is that of one's own machines");
  c.set_aside({"compute_environment",
               "debug",
               "machine_rank",
               "main_process_ip",
               "main_process_port",
               "main_training_function",
               "rdzv_backend",
               "same_network",
               "gpu_ids",
               "downcast_bf16",
               "enable_cpu_affinity",
               "enable_numa_affinity",
               "tpu_name",
               "tpu_zone",
               "tpu_env",
               "tpu_vm",
               "tpu_use_cluster",
               "tpu_use_sudo",
               "command_file",
               "commands",
               "mpirun_config",
               "dynamo_config.dynamo_mode",
               "dynamo_config.dynamo_use_fullgraph",
               "dynamo_config.dynamo_use_dynamic"});
}

void read_precision(Conversion& c) {
  enum class Mixed : std::uint8_t { no, bf16, fp16, fp8 };
  const std::string_view key = "mixed_precision";
  const auto mixed = c.choice<Mixed>(key, {{"no", Mixed::no},
                                           {"false", Mixed::no},
                                           {"bf16", Mixed::bf16},
                                           {"fp16", Mixed::fp16},
                                           {"fp8", Mixed::fp8}})
                         .value_or(Mixed::no);
  const DType dtype = mixed == Mixed::no ? DType::fp32 : DType::bf16;
  c.plan.precision.param = dtype;
  c.plan.precision.reduce = dtype;
  std::string note;
  if (mixed == Mixed::fp16) {
    note = "a plan has no fp16: bf16 is as large and as fast; scaling the loss is left out";
  } else if (mixed == Mixed::fp8) {
    note = "FSDP gathers and reduces in bf16; the 8-bit matrix products are left out";
  }
  c.carry(key, {"precision.param", "precision.reduce"}, note);
  c.imply({"precision.storage"}, "Accelerate keeps the sharded parameters in fp32");
  c.drop("fp8_config", "the 8-bit matrix products are left out");
}

// "INDUCTOR" compiles; other backends run eagerly or are no longer there.
void read_compilation(Conversion& c) {
  c.plan.operators = OperatorSetName::pytorch_eager;
  const std::string key =
      c.has("dynamo_backend") ? "dynamo_backend" : "dynamo_config.dynamo_backend";
  const auto backend = c.string(key);
  const std::string regional = "dynamo_config.dynamo_use_regional_compilation";
  if (!backend || equal_but_for_case(*backend, "NO")) {
    c.carry(key, {"operators"});
    c.set_aside({regional});
  } else if (equal_but_for_case(*backend, "INDUCTOR")) {
    c.plan.operators = OperatorSetName::pytorch_compile;
    const bool is_regional = c.flag(regional).value_or(false);
    c.plan.pytorch.compile = is_regional ? CompileScope::blocks : CompileScope::model;
    c.carry(key, {"operators"});
    c.carry(regional, {"pytorch.compile"});
  } else {
    c.drop(key, "only the backend INDUCTOR is described; the plan has PyTorch's eager operators");
  }
}

void read_accumulation(Conversion& c) {
  const std::string_view key = "gradient_accumulation_steps";
  c.take(key, c.plan.batch.accumulation, {1, kMaxAccumulation}, std::nullopt, "batch.accumulation");
  if (c.plan.batch.accumulation > 1) {
    c.plan.batch.gradient_sync = When::last;
    c.imply({"batch.gradient_sync"},
            "accelerator.accumulate() reduces gradients in the last "
            "micro-step only");
  }
}

void read_data_parallel(Conversion& c) {
  c.plan.runtime = RuntimeName::ddp;
  c.plan.sharding.strategy = Strategy::no_shard;
  c.plan.wrap.policy = WrapPolicy::none;
  c.plan.precision.reduce = DType::fp32;
  c.carry("distributed_type", {"runtime", "sharding.strategy", "wrap.policy", "precision.reduce"},
          "autocast keeps parameters and gradients in fp32");
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
  c.rename("gradient_accumulation_steps", section + "gradient_accumulation_steps");
  c.take("gradient_accumulation_steps", c.plan.batch.accumulation, {1, kMaxAccumulation}, 1,
         "batch.accumulation");
  const std::int64_t stage = read_zero(c, 2);
  const std::string clipping = section + "gradient_clipping";
  if (c.has(clipping) && equal_but_for_case(shown(*c.find(clipping)), "none")) {
    c.leave_unsaid({"optimizer.clip_grad_norm"});
  } else {
    c.take(clipping, c.plan.optimizer.clip_grad_norm, {0, 1e30}, std::nullopt,
           "optimizer.clip_grad_norm");
  }
  c.set_aside({section + "zero3_init_flag", section + "zero3_save_16bit_model",
               section + "deepspeed_multinode_launcher", section + "deepspeed_hostfile",
               section + "deepspeed_exclusion_filter", section + "deepspeed_inclusion_filter",
               section + "seq_parallel_communication_data_type"});
  return stage;
}

}  // namespace

Result<ConvertedPlan> accelerate_plan(Value root, const std::string& file) {
  enum class Kind : std::uint8_t { fsdp, ddp, deepspeed };
  Conversion c(std::move(root), file);
  const std::string_view kind_key = "distributed_type";
  const auto given = c.choice<Kind>(
      kind_key, {{"FSDP", Kind::fsdp}, {"MULTI_GPU", Kind::ddp}, {"DEEPSPEED", Kind::deepspeed}});
  if (!given) c.wrong(kind_key, "FSDP, MULTI_GPU or DEEPSPEED");
  const Kind kind = given.value_or(Kind::fsdp);

  read_job(c);
  read_precision(c);
  read_compilation(c);
  std::string origin = "Accelerate configuration (data parallel)";
  if (kind == Kind::fsdp) {
    read_accumulation(c);
    origin = "Accelerate FSDP " + std::to_string(read_fsdp(c)) + " configuration";
    c.set_aside({"deepspeed_config"});
  } else if (kind == Kind::deepspeed) {
    read_mesh(c);
    const std::int64_t stage = read_deepspeed(c);
    origin = "Accelerate configuration (DeepSpeed ZeRO " + std::to_string(stage) + ")";
    c.set_aside({"fsdp_config"});
  } else {
    read_accumulation(c);
    read_data_parallel(c);
    c.set_aside({"fsdp_config", "deepspeed_config"});
  }
  c.plan.pytorch.implementation = Implementation::transformers;
  c.plan.pytorch.rope = RopeArithmetic::half;
  c.imply({"pytorch.implementation", "pytorch.rope"}, "the models of transformers");
  c.plan.optimizer.kernel = OptimizerKernel::foreach;
  c.leave_unsaid({"batch.micro_batch", "batch.sequence", "optimizer.name", "optimizer.kernel",
                  "optimizer.lr"});
  if (kind != Kind::deepspeed) c.leave_unsaid({"optimizer.clip_grad_norm"});
  return c.finish(origin);
}

}  // namespace foreshard::foreign
