// DeepSpeed's configuration in JSON, but for its section zero_optimization. "auto" is what
// transformers' Trainer fills in.
#include "models/plan/foreign/conversion.hpp"
#include "models/plan/foreign/deepspeed_zero.hpp"

namespace foreshard::foreign {
namespace {

// train_batch_size = micro batch x accumulation x ranks: two of them give the third for a number of
// ranks, which the file does not contain.
void read_batch(Conversion& c) {
  BatchPlan& batch = c.plan.batch;
  const std::string_view micro = "train_micro_batch_size_per_gpu";
  const std::string_view steps = "gradient_accumulation_steps";
  const std::string_view all = "train_batch_size";
  c.leave_unsaid({"batch.sequence"});
  c.facts.sequences_per_step = c.integer(all, {1, std::int64_t{1} << 40});
  const bool has_all = c.facts.sequences_per_step.has_value();
  const bool has_both = c.has(micro) && c.has(steps) && !c.is_auto(micro) && !c.is_auto(steps);
  c.take(micro, batch.micro_batch, {1, kMaxSequences}, std::nullopt, "batch.micro_batch");
  c.take(steps, batch.accumulation, {1, kMaxAccumulation},
         has_all ? std::nullopt : std::optional<std::int64_t>(1), "batch.accumulation");
  if (!has_all) return;
  if (!has_both) {
    return c.drop(
        all,
        "is micro_batch x accumulation x ranks, and the file does not contain the number of ranks");
  }
  const std::int64_t on_each = batch.micro_batch * batch.accumulation;
  if (*c.facts.sequences_per_step % on_each != 0) {
    return c.wrong(
        all, "a multiple of " + std::to_string(on_each) + ", the sequences of one rank in a step");
  }
  c.facts.ranks = *c.facts.sequences_per_step / on_each;
  c.set_aside({all});
}

// torch.compile was switched on in three ways over the years.
void read_compilation(Conversion& c) {
  c.plan.operators = OperatorSetName::pytorch_eager;
  const std::string key = c.first_of({"compile.deepcompile", "compile.disable", "compile.enabled"});
  const bool is_set = c.flag(key).value_or(key == "compile.disable");
  const bool is_on = is_set != (key == "compile.disable");
  if (is_on) {
    c.plan.operators = OperatorSetName::pytorch_compile;
    c.plan.pytorch.compile = CompileScope::model;
  }
  c.carry(key, {"operators"});
  if (is_on) c.imply({"pytorch.compile"}, "DeepSpeed compiles the whole model");
  c.set_aside({"compile.backend", "compile.kwargs"});
}

enum class Enabled : std::uint8_t { yes, no, automatic };

Enabled enabled(Conversion& c, const std::string& section) {
  if (c.is_auto(section + ".enabled")) return Enabled::automatic;
  return c.flag(section + ".enabled").value_or(false) ? Enabled::yes : Enabled::no;
}

void read_precision(Conversion& c) {
  PrecisionPlan& precision = c.plan.precision;
  const std::string bf16 = c.has("bfloat16") ? "bfloat16" : "bf16";
  const Enabled is_bf16 = enabled(c, bf16), is_fp16 = enabled(c, "fp16");
  if (is_bf16 == Enabled::yes && is_fp16 == Enabled::yes) {
    c.wrong("fp16.enabled", "false, as bf16.enabled is true");
  }
  if (is_bf16 == Enabled::yes || is_fp16 == Enabled::yes) {
    precision.param = DType::bf16;
    c.carry((is_bf16 == Enabled::yes ? bf16 : std::string("fp16")) + ".enabled",
            {"precision.param"},
            is_bf16 == Enabled::yes
                ? ""
                : "a plan has no fp16: bf16 is as large and as fast; scaling the loss is left out");
  } else if (is_bf16 == Enabled::no && is_fp16 == Enabled::no) {
    precision.param = DType::fp32;
    c.carry(bf16 + ".enabled", {"precision.param"});
  } else {
    if (is_bf16 == Enabled::automatic) c.drop(bf16 + ".enabled", kAuto);
    if (is_fp16 == Enabled::automatic) c.drop("fp16.enabled", kAuto);
    c.leave_unsaid({"precision.param"});
  }
  const std::string_view reduce = "communication_data_type";
  precision.reduce = c.choice<DType>(reduce, {{"fp32", DType::fp32},
                                              {"bf16", DType::bf16},
                                              {"bfp16", DType::bf16},
                                              {"fp16", DType::bf16}})
                         .value_or(precision.param);
  c.carry(reduce, {"precision.reduce"}, c.has(reduce) ? "" : "the dtype of the parameters");
  for (const std::string& section : {bf16, std::string("fp16")}) {
    const std::string master =
        section + "." + (section == "fp16" ? "fp16" : "bf16") + "_master_weights_and_grads";
    if (!c.flag(master).value_or(false)) continue;
    precision.storage = DType::bf16;
    c.carry(master, {"precision.storage"});
  }
  if (c.flag(bf16 + ".bf16_optimizer_states").value_or(false)) {
    precision.optimizer_state = DType::bf16;
    c.carry(bf16 + ".bf16_optimizer_states", {"precision.optimizer_state"});
  }
  c.drop("data_types.grad_accum_dtype", "a plan accumulates gradients in precision.reduce");
  c.drop_if_set("torch_autocast.enabled", "a plan casts parameters, not single operators");
  c.drop_if_set("amp.enabled", "a plan casts parameters, not single operators");
  c.set_aside({bf16, "fp16", "torch_autocast", "amp", "data_types"});
}

// The section sets up deepspeed.checkpointing, which the model's own code has to call.
void read_checkpointing(Conversion& c) {
  const std::string section = "activation_checkpointing.";
  const bool moves = c.flag(section + "cpu_checkpointing").value_or(false);
  const bool partitions = c.flag(section + "partition_activations").value_or(false);
  const bool is_contiguous = c.flag(section + "contiguous_memory_optimization").value_or(false);
  if (moves || partitions || is_contiguous) {
    c.plan.checkpointing.mode = CheckpointMode::full;
    c.plan.offload.activations = moves;
    c.carry(section + (moves        ? "cpu_checkpointing"
                       : partitions ? "partition_activations"
                                    : "contiguous_memory_optimization"),
            {"checkpointing.mode", "offload.activations"},
            "for a model whose code calls deepspeed.checkpointing on every block");
    c.drop_if_set(section + "partition_activations",
                  "divides checkpoints among tensor-parallel ranks, which a plan does not have");
  } else {
    c.leave_unsaid({"checkpointing.mode"});
  }
  c.drop(section + "number_checkpoints", "a plan checkpoints every block, or every n-th");
  c.set_aside({"activation_checkpointing"});
}

void read_optimizer(Conversion& c) {
  OptimizerPlan& optimizer = c.plan.optimizer;
  c.take("gradient_clipping", optimizer.clip_grad_norm, {0, 1e30}, 1.0, "optimizer.clip_grad_norm");
  if (!c.has("optimizer")) {
    optimizer.kernel = OptimizerKernel::foreach;
    return c.leave_unsaid({"optimizer.name", "optimizer.kernel", "optimizer.lr", "optimizer.betas",
                           "optimizer.eps", "optimizer.weight_decay"});
  }
  const std::string name = c.string("optimizer.type").value_or("");
  const bool is_adam = equal_but_for_case(name, "adam"), is_sgd = equal_but_for_case(name, "sgd");
  if (is_adam || equal_but_for_case(name, "adamw")) {
    c.carry("optimizer.type", {"optimizer.name"},
            is_adam ? "Adam takes the memory and time of AdamW" : "");
  } else if (is_sgd) {
    optimizer.name = OptimizerName::sgd;
    c.carry("optimizer.type", {"optimizer.name"});
  } else {
    c.drop("optimizer.type", "a plan has adamw and sgd; this one keeps adamw");
  }
  const bool is_torch = c.flag("optimizer.params.torch_adam").value_or(false) || is_sgd;
  if (is_torch) optimizer.kernel = OptimizerKernel::foreach;
  c.carry("optimizer.params.torch_adam", {"optimizer.kernel"},
          is_torch ? "" : "DeepSpeed's FusedAdam");
  c.take("optimizer.params.lr", optimizer.lr, {0, 1e6}, 1e-3, "optimizer.lr");
  c.take("optimizer.params.eps", optimizer.eps, {0, 1}, 1e-8, "optimizer.eps");
  c.take("optimizer.params.weight_decay", optimizer.weight_decay, {0, 1e6}, 0.0,
         "optimizer.weight_decay");
  const std::string_view betas = "optimizer.params.betas";
  if (c.is_auto(betas)) {
    c.drop(betas, kAuto);
    c.leave_unsaid({"optimizer.betas"});
  } else {
    const Value* pair = c.find(betas);
    optimizer.beta1 = 0.9;
    optimizer.beta2 = 0.999;
    for (std::size_t i = 0; pair != nullptr && i < 2; ++i) {
      const Value* beta = i < pair->items.size() ? &pair->items[i] : nullptr;
      const bool is_integer = beta != nullptr && beta->kind == Value::Kind::integer;
      const double number = beta == nullptr ? -1
                            : is_integer    ? static_cast<double>(beta->integer)
                                            : beta->number;
      const bool is_number = is_integer || (beta != nullptr && beta->kind == Value::Kind::number);
      if (!is_number || number < 0 || number >= 1 || pair->items.size() != 2) {
        c.wrong(betas, "a list of two numbers, each from 0 to below 1");
        break;
      }
      (i == 0 ? optimizer.beta1 : optimizer.beta2) = number;
    }
    c.carry(betas, {"optimizer.betas"});
  }
  c.drop_unless("optimizer.params.momentum", "0", "a plan's sgd has no momentum");
  c.set_aside({"optimizer.params.adam_w_mode", "optimizer.params.bias_correction",
               "optimizer.params.momentum", "optimizer.legacy_fusion",
               "zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer"});
}

void read_schedule(Conversion& c) {
  if (!c.has("scheduler")) return c.leave_unsaid({"optimizer.schedule", "optimizer.warmup_steps"});
  OptimizerPlan& optimizer = c.plan.optimizer;
  const std::string name = c.string("scheduler.type").value_or("");
  const std::string params = "scheduler.params.";
  if (name != "WarmupLR" && name != "WarmupDecayLR" && name != "WarmupCosineLR") {
    c.drop("scheduler",
           "a plan's rate is constant, linear or cosine after a linear warm-up; no "
           "memory or time depends on it");
    c.set_aside({"scheduler.type"});
    return;
  }
  optimizer.schedule = name == "WarmupLR"        ? Schedule::constant
                       : name == "WarmupDecayLR" ? Schedule::linear
                                                 : Schedule::cosine;
  c.carry("scheduler.type", {"optimizer.schedule"});
  c.take(params + "warmup_num_steps", optimizer.warmup_steps, {0, kMaxSteps}, 1000,
         "optimizer.warmup_steps");
  const auto highest = c.number(params + "warmup_max_lr", {0, 1e6});
  if (highest) {
    optimizer.lr = *highest;
    c.carry(params + "warmup_max_lr", {"optimizer.lr"});
  }
  const auto lowest = c.number(
      params + (name == "WarmupCosineLR" ? "warmup_min_ratio" : "warmup_min_lr"), {0, 1e6});
  const double scale = name == "WarmupCosineLR" ? 1.0 : optimizer.lr;
  optimizer.warmup_start_factor = scale > 0 && lowest && *lowest <= scale ? *lowest / scale : 0.0;
  c.carry(params + (name == "WarmupCosineLR" ? "warmup_min_ratio" : "warmup_min_lr"),
          {"optimizer.warmup_start_factor"});
  const auto total = c.integer(params + "total_num_steps", {1, kMaxSteps});
  if (total && *total > optimizer.warmup_steps) {
    optimizer.decay_steps = *total - optimizer.warmup_steps;
    c.carry(params + "total_num_steps", {"optimizer.decay_steps"});
  }
  c.facts.steps = total;
  const std::string why = "no memory or time depends on it";
  c.drop_unless(params + "warmup_type", "linear", "a plan's warm-up is linear; " + why);
  c.drop(params + "cos_min_ratio", "a plan's rate falls to zero; " + why);
  c.set_aside({params + "warmup_type", params + "last_batch_iteration"});
}

void read_others(Conversion& c) {
  c.drop("tensor_parallel", "a plan has no tensor parallelism");
  c.drop_degree("sequence_parallel_size", "a plan has no sequence parallelism");
  c.drop("pipeline", "a plan has no pipeline parallelism");
  c.drop("sparse_attention", "a plan's attention is dense");
  c.drop("compression_training", "a plan trains all weights in full");
  c.drop("quantize_training", "a plan trains all weights in full");
  c.drop_if_set("elasticity.enabled", "a plan has one batch size");
  c.drop_if_set("progressive_layer_drop.enabled", "a plan runs every layer");
  c.drop_if_set("curriculum_learning.enabled", "a plan has one sequence length");
  c.drop_if_set("data_efficiency.enabled", "a plan has one sequence length");
  c.drop_if_set("sparse_gradients", "a plan's gradients are dense");
  c.drop_if_set("hybrid_engine.enabled", "a plan only trains");
  c.drop_if_set("disable_allgather", "a plan gathers by all-gather");
  c.set_aside({"disable_allgather",
               "cuda_visible_devices",
               "steps_per_print",
               "wall_clock_breakdown",
               "memory_breakdown",
               "dump_state",
               "tensorboard",
               "wandb",
               "csv_monitor",
               "comet",
               "monitor_config",
               "flops_profiler",
               "comms_logger",
               "checkpoint",
               "nebula",
               "autotuning",
               "log_level",
               "timers",
               "dataloader_drop_last",
               "prescale_gradients",
               "gradient_predivide_factor",
               "elasticity",
               "progressive_layer_drop",
               "curriculum_learning",
               "data_efficiency",
               "hybrid_engine",
               "zero_force_ds_cpu_optimizer",
               "eigenvalue",
               "vocabulary_size",
               "seq_parallel_communication_data_type",
               "sparse_gradients",
               "sequence_parallel_size",
               "graph_harvesting",
               "zero_allow_untested_optimizer"});
}

}  // namespace

Result<ConvertedPlan> deepspeed_plan(Value root, const std::string& file) {
  Conversion c(std::move(root), file);
  c.allow_auto();
  read_compilation(c);
  read_batch(c);
  read_precision(c);
  const std::int64_t stage = read_zero(c, 0);
  read_checkpointing(c);
  read_optimizer(c);
  read_schedule(c);
  read_others(c);
  c.plan.pytorch.implementation = Implementation::transformers;
  c.plan.pytorch.rope = RopeArithmetic::half;
  c.imply({"pytorch.implementation", "pytorch.rope"}, "the models of transformers");
  return c.finish("DeepSpeed ZeRO " + std::to_string(stage) + " configuration");
}

}  // namespace foreshard::foreign
