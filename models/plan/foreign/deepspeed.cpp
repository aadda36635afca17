// DeepSpeed's configuration in JSON, but for its section zero_optimization. "auto" is what
// transformers' Trainer fills in.
#include "models/plan/foreign/deepspeed_config.hpp"

namespace foreshard::foreign {
namespace {

constexpr std::string_view kSingle = "a plan casts parameters, not single operators";
constexpr std::string_view kWhole = "a plan trains all weights in full";
constexpr std::string_view kSynchronises = "the host waits for the device in every step";
constexpr std::string_view kCheckpoints =
    "deepspeed.checkpointing, which only a model's own code calls; those of transformers do not";

constexpr Limit kLimits[] = {
    {"tensor_parallel", "", "a plan has no tensor parallelism"},
    {"sequence_parallel_size", "1", "a plan has no sequence parallelism"},
    {"pipeline", "", "a plan has no pipeline parallelism"},
    {"sparse_attention", "", "a plan's attention is dense"},
    {"compression_training", "", kWhole},
    {"quantize_training", "", kWhole},
    {"elasticity", "", "a plan has one batch size"},
    {"progressive_layer_drop", "", "a plan runs every layer"},
    {"curriculum_learning", "", "a plan has one sequence length"},
    {"data_efficiency", "", "a plan has one sequence length"},
    {"random_ltd", "", "a plan runs every layer on every token"},
    {"sparse_gradients", "", "a plan's gradients are dense"},
    {"hybrid_engine", "", "a plan only trains"},
    {"disable_allgather", "", "a plan gathers by all-gather"},
    {"wall_clock_breakdown", "", kSynchronises},
    {"memory_breakdown", "", kSynchronises},
    {"comms_logger", "", "each collective is synchronised"},
    {"flops_profiler", "", "the profiled step is slower"},
    {"timers", "", kSynchronises},
    {"eigenvalue", "", "a plan has no further backward passes"},
    {"graph_harvesting", "", "the optimizer's step is a CUDA graph, which a plan does not have"},
    {"prescale_gradients", "",
     "gradients are divided before they are reduced, by kernels of their own"},
    {"data_types.grad_accum_dtype", "", "a plan accumulates gradients in precision.reduce"},
    {"torch_autocast", "", kSingle},
    {"amp", "", kSingle},
};
constexpr Names kNoEffect =
    "steps_per_print cuda_visible_devices dump_state tensorboard wandb csv_monitor comet "
    "monitor_config checkpoint nebula autotuning log_level dataloader_drop_last "
    "gradient_predivide_factor vocabulary_size seq_parallel_communication_data_type "
    "zero_allow_untested_optimizer zero_force_ds_cpu_optimizer";
// How fp16 scales the loss: a few bytes.
constexpr Names kScalingNoEffect =
    "loss_scale initial_scale_power loss_scale_window hysteresis min_loss_scale auto_cast "
    "consecutive_hysteresis immediate_grad_update check_grad_overflow";

// train_batch_size = micro batch x accumulation x ranks. Two of them and the number of ranks give the
// third; without that number, all three give it.
void read_batch(Conversion& c) {
  BatchPlan& batch = c.plan.batch;
  const std::string_view micro = "train_micro_batch_size_per_gpu";
  const std::string_view steps = "gradient_accumulation_steps";
  const std::string_view all = "train_batch_size";
  const auto is_given = [&](std::string_view key) { return c.has(key) && !c.is_auto(key); };
  const bool has_micro = is_given(micro), has_steps = is_given(steps);
  if (c.is_auto(all)) c.set_aside({all});  // the product of the others
  const auto total = c.is_auto(all) ? std::nullopt : c.integer(all, {1, std::int64_t{1} << 40});
  c.facts.sequences_per_step = total;
  c.take(micro, batch.micro_batch, {1, kMaxSequences}, std::nullopt, "batch.micro_batch");
  c.take(steps, batch.accumulation, {1, kMaxAccumulation},
         total ? std::nullopt : std::optional<std::int64_t>(1), "batch.accumulation");
  if (!total) return;
  const bool has_both = has_micro && has_steps;
  if (!has_both && !c.ranks()) {
    return c.drop(
        all,
        "is micro_batch x accumulation x ranks, and the number of ranks is not known; give "
        "it with --ranks");
  }
  const std::int64_t known = (has_micro ? batch.micro_batch : 1) *
                             (has_steps ? batch.accumulation : 1) * (has_both ? 1 : *c.ranks());
  if (*total % known != 0) {
    return c.wrong(all, "a multiple of " + std::to_string(known) +
                            (has_both ? ", the sequences of one rank in a step"
                                      : ", what the other sizes and --ranks make"));
  }
  const std::int64_t third = *total / known;
  if (has_both) {
    c.name_ranks(all, third);
    return c.set_aside({all});
  }
  // With neither, DeepSpeed does without accumulation.
  std::int64_t& field = has_micro ? batch.accumulation : batch.micro_batch;
  if (third > (has_micro ? kMaxAccumulation : kMaxSequences)) {
    return c.wrong(all, "fewer sequences on each rank");
  }
  field = third;
  c.carry(all, {has_micro ? "batch.accumulation" : "batch.micro_batch"},
          "of " + std::to_string(*c.ranks()) + " ranks");
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
  const std::string_view details[] = {"offload_activation", "offload_opt_states", "double_buffer",
                                      "symmetric_memory",   "free_activation",    "kwargs"};
  if (!is_on) {
    c.set_aside({"compile.backend"});
    for (const std::string_view detail : details) c.set_aside(detail, "compile.");
    return;
  }
  c.imply({"pytorch.compile"}, "DeepSpeed compiles the whole model");
  c.limit({"compile.backend", "inductor", "only inductor is described"});
  c.limit({"compile.kwargs", "", kCompileMode});
  for (const std::string_view detail : details) {
    c.limit({detail, "", "DeepCompile's passes are not described"}, "compile.");
  }
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
            {"precision.param"});
    if (is_fp16 == Enabled::yes) c.drop("fp16.enabled", kNoFp16);
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
  c.set_aside({bf16 + ".enabled", "fp16.enabled"});
  c.set_aside(kScalingNoEffect, "fp16.");
  c.set_aside(kScalingNoEffect, bf16 + ".");
}

void read_checkpointing(Conversion& c) {
  for (const char* key :
       {"partition_activations", "cpu_checkpointing", "contiguous_memory_optimization",
        "synchronize_checkpoint_boundary", "number_checkpoints", "profile"}) {
    c.limit({key, "", kCheckpoints}, "activation_checkpointing.");
  }
  c.leave_unsaid({"checkpointing.mode"});
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
    c.drop("optimizer.type",
           "DeepSpeed steps one flat tensor of each group of parameters, the plan each parameter");
    c.take("optimizer.params.momentum", optimizer.momentum, {0, 1, true}, 0.0,
           "optimizer.momentum");
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
  c.set_aside({"optimizer.params.adam_w_mode", "optimizer.params.bias_correction",
               "optimizer.legacy_fusion"});
}

void read_schedule(Conversion& c) {
  if (!c.has("scheduler")) return c.leave_unsaid({"optimizer.schedule", "optimizer.warmup_steps"});
  OptimizerPlan& optimizer = c.plan.optimizer;
  const std::string name = c.string("scheduler.type").value_or("");
  const std::string params = "scheduler.params.";
  if (name != "WarmupLR" && name != "WarmupDecayLR" && name != "WarmupCosineLR") {
    return c.set_aside({"scheduler"});  // no memory or time depends on the rate
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
  const std::string least = params + "cos_min_ratio";
  if (name == "WarmupCosineLR") {
    constexpr double kDefault = 1e-4;
    optimizer.min_lr = c.number(least, {0, 1}).value_or(kDefault) * optimizer.lr;
    c.carry(least, {"optimizer.min_lr"});
  }
  c.set_aside({params + "warmup_type", params + "last_batch_iteration"});
}

}  // namespace

std::int64_t read_deepspeed_config(Conversion& c) {
  c.allow_auto();
  read_compilation(c);
  read_batch(c);
  read_precision(c);
  const std::int64_t stage = read_zero(c, 0);
  read_checkpointing(c);
  read_optimizer(c);
  read_schedule(c);
  c.limit(kLimits);
  c.set_aside(kNoEffect);
  return stage;
}

Result<ConvertedPlan> deepspeed_plan(Source source) {
  Conversion c(std::move(source));
  const std::int64_t stage = read_deepspeed_config(c);
  c.leave_unsaid({"batch.sequence"});
  c.plan.pytorch.implementation = ImplementationName::transformers;
  c.plan.pytorch.rope = RopeArithmetic::half;
  c.imply({"pytorch.implementation", "pytorch.rope"}, "the models of transformers");
  return c.finish("DeepSpeed ZeRO " + std::to_string(stage) + " configuration");
}

}  // namespace foreshard::foreign
