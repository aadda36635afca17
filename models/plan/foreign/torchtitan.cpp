// torchtitan's job configuration in TOML, of every generation from 2024 until early 2026, when Python
// took its place: keys that moved between sections are looked for in all of them. A key that is not
// there has torchtitan's own default.
#include "models/plan/foreign/conversion.hpp"
#include "models/plan/foreign/torchtitan_parallelism.hpp"

namespace foreshard::foreign {
namespace {

void read_job(Conversion& c) {
  const auto name = c.string("model.name"), flavor = c.string("model.flavor");
  c.facts.model = name.value_or("llama3") + (flavor ? " " + *flavor : "");
  c.facts.steps = c.integer("training.steps", {1, kMaxSteps});
  if (name && !name->starts_with("llama")) {
    c.drop("model.name", "the models here are Llamas");
  }
  c.drop_unless("model.norm_type", "rmsnorm", "the models here have RMSNorm");
  c.drop_if_set("fault_tolerance.enable", "a plan has no replica groups that may fail");
  c.drop_if_set(c.first_of({"validation.enable", "validation.enabled"}),
                "a plan has training steps only");
  const std::string deterministic = c.first_of({"debug.deterministic", "training.deterministic"});
  if (c.flag(deterministic).value_or(false)) {
    c.plan.pytorch.deterministic = true;
    c.carry(deterministic, {"pytorch.deterministic"});
  }
  c.set_aside({"job",
               "profiling",
               "eval",
               "metrics",
               "checkpoint",
               "comm",
               "memory_estimation",
               "estimate",
               "fault_tolerance",
               "validation",
               "debug",
               "model.hf_assets_path",
               "model.tokenizer_path",
               "model.print_after_conversion",
               "training.dataset",
               "training.dataset_path",
               "training.dataloader",
               "training.gc_freq",
               "training.gc_debug",
               "training.seed",
               "experimental.custom_import",
               "experimental.custom_args_module",
               "experimental.custom_model_path",
               "parallelism.enable_compiled_autograd",
               "experimental.enable_compiled_autograd"});
}

void read_precision(Conversion& c) {
  PrecisionPlan& precision = c.plan.precision;
  const std::initializer_list<Choice<DType>> dtypes = {{"bfloat16", DType::bf16},
                                                       {"float32", DType::fp32}};
  precision.storage = c.choice<DType>("training.dtype", dtypes).value_or(DType::fp32);
  precision.optimizer_state = precision.storage;
  c.carry("training.dtype", {"precision.storage", "precision.optimizer_state"});
  precision.param = c.choice<DType>("training.mixed_precision_param", dtypes).value_or(DType::bf16);
  c.carry("training.mixed_precision_param", {"precision.param"});
  precision.reduce =
      c.choice<DType>("training.mixed_precision_reduce", dtypes).value_or(DType::fp32);
  c.carry("training.mixed_precision_reduce", {"precision.reduce"});
}

// Gradients are reduced in every micro-step: nothing switches that off.
void read_batch(Conversion& c, std::optional<std::int64_t> data_ranks) {
  BatchPlan& batch = c.plan.batch;
  c.take(c.first_of({"training.local_batch_size", "training.batch_size"}), batch.micro_batch,
         {1, kMaxSequences}, 8, "batch.micro_batch");
  c.take("training.seq_len", batch.sequence, {1, kMaxTokens}, 2048, "batch.sequence");
  const std::string_view global = "training.global_batch_size";
  const auto sequences = c.integer(global, {-1, std::int64_t{1} << 40});
  if (!sequences || *sequences < 1) return c.carry(global, {"batch.accumulation"});
  c.facts.sequences_per_step = sequences;
  if (!data_ranks) {
    return c.drop(global,
                  "the file does not contain the number of ranks; batch.accumulation = "
                  "global_batch_size / (local_batch_size x ranks)");
  }
  const std::int64_t at_once = *data_ranks * batch.micro_batch;
  if (*sequences % at_once != 0 || *sequences / at_once > kMaxAccumulation) {
    return c.wrong(global, "a multiple of " + std::to_string(at_once) +
                               ", local_batch_size times the data-parallel ranks");
  }
  batch.accumulation = *sequences / at_once;
  c.carry(global, {"batch.accumulation"});
}

void read_checkpointing(Conversion& c) {
  enum class Mode : std::uint8_t { none, full, selective, budget };
  const std::string_view key = "activation_checkpoint.mode";
  const std::string_view option = "activation_checkpoint.selective_ac_option";
  CheckpointPlan& checkpointing = c.plan.checkpointing;
  const Mode mode = c.choice<Mode>(key, {{"none", Mode::none},
                                         {"full", Mode::full},
                                         {"selective", Mode::selective},
                                         {"memory_budget", Mode::budget}})
                        .value_or(Mode::selective);
  if (mode == Mode::budget) {
    c.drop(key, "what the compiler keeps within a budget is not described; the plan keeps all");
    c.drop("activation_checkpoint.memory_budget", "as activation_checkpoint.mode");
  } else if (mode == Mode::selective && c.has(option) && shown(*c.find(option)) == "op") {
    checkpointing.mode = CheckpointMode::selective;
    checkpointing.save_matmul = false;
    checkpointing.save_every_second_matmul = true;
    c.carry(key, {"checkpointing.mode"});
    c.carry(option, {"checkpointing.save"});
  } else if (mode == Mode::selective) {
    const std::int64_t every = c.integer(option, {0, 10'000}).value_or(2);
    checkpointing.mode = every > 1 ? CheckpointMode::every : CheckpointMode::full;
    checkpointing.every = every > 1 ? every : checkpointing.every;
    c.carry(key, {"checkpointing.mode"});
    c.carry(option, {"checkpointing.every"});
  } else {
    if (mode == Mode::full) checkpointing.mode = CheckpointMode::full;
    c.carry(key, {"checkpointing.mode"});
  }
  if (checkpointing.mode != CheckpointMode::none) {
    c.take("activation_checkpoint.early_stop", c.plan.pytorch.checkpoint_early_stop, false,
           "pytorch.checkpoint_early_stop");
  }
  c.set_aside({option, "activation_checkpoint.memory_budget",
               "activation_checkpoint.visualize_memory_budget_pareto",
               "activation_checkpoint.early_stop", "activation_checkpoint.preserve_rng_state",
               "activation_checkpoint.determinism_check", "activation_checkpoint.debug",
               "activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns"});
}

bool names(const Value* list, std::string_view word) {
  if (list == nullptr) return false;
  for (const Value& item : list->items) {
    if (item.text == word) return true;
  }
  return false;
}

// Blocks are compiled one by one; since there is a section for it, the loss too unless
// compile.components leaves it out.
void read_compilation(Conversion& c) {
  c.plan.operators = OperatorSetName::pytorch_eager;
  const std::string key = c.first_of({"compile.enable", "training.compile"});
  const Value* components = c.find("compile.components");
  const bool is_loss_compiled =
      components == nullptr ? c.has("compile") : names(components, "loss");
  if (!c.flag(key).value_or(false)) {
    c.carry(key, {"operators"});
  } else {
    if (components == nullptr || names(components, "model")) {
      c.plan.operators = OperatorSetName::pytorch_compile;
    }
    if (is_loss_compiled) c.plan.pytorch.loss = LossKind::compiled;
    c.carry(key, {"operators", "pytorch.loss"});
    c.drop_unless("compile.backend", "inductor", "only inductor is described");
  }
  c.set_aside({"compile.components", "compile.backend"});
}

// Switched on by a converter, earlier by a flag in one of three places.
void read_float8(Conversion& c) {
  const Value* converters = c.find("model.converters");
  std::string key;
  for (const char* converter : {"float8", "quantize.linear.float8"}) {
    if (names(converters, converter)) key = "model.converters";
  }
  for (const char* flag : {"float8.enable_float8_linear", "training.enable_float8_linear"}) {
    if (c.flag(flag).value_or(false)) key = flag;
  }
  if (c.string("training.fp8_linear").value_or("") != "") key = "training.fp8_linear";
  const std::string recipe =
      c.first_of({"quantize.linear.float8.recipe_name", "float8.recipe_name"});
  const bool is_rowwise = c.string(recipe).value_or("").starts_with("rowwise");
  if (!key.empty()) {
    c.plan.pytorch.float8 = is_rowwise ? Float8Scaling::rowwise : Float8Scaling::tensorwise;
    c.carry(key, {"pytorch.float8"}, "all products of the blocks");
  } else if (converters != nullptr && !converters->items.empty()) {
    c.drop("model.converters", "of the 8-bit formats a plan has float8 only");
  }
  c.set_aside({"float8", "mx", "quantize"});
}

void read_optimizer(Conversion& c) {
  OptimizerPlan& optimizer = c.plan.optimizer;
  const std::string_view key = "optimizer.name";
  const std::string name = c.string(key).value_or("AdamW");
  if (name == "AdamW" || name == "Adam") {
    c.carry(key, {"optimizer.name"},
            name == "Adam" ? "Adam takes the memory and time of AdamW" : "");
  } else {
    c.drop(key, "a plan has adamw and sgd; this one keeps adamw");
  }
  c.take("optimizer.lr", optimizer.lr, {0, 1e6}, 8e-4, "optimizer.lr");
  c.take("optimizer.beta1", optimizer.beta1, {0, 1, true}, 0.9, "optimizer.betas");
  c.take("optimizer.beta2", optimizer.beta2, {0, 1, true}, 0.95, "optimizer.betas");
  c.take("optimizer.eps", optimizer.eps, {0, 1}, 1e-8, "optimizer.eps");
  c.take("optimizer.weight_decay", optimizer.weight_decay, {0, 1e6}, 0.1, "optimizer.weight_decay");
  c.take("training.max_norm", optimizer.clip_grad_norm, {0, 1e30}, 1.0, "optimizer.clip_grad_norm");

  const bool is_before_2025 = c.has("checkpoint.interval_type") || c.has("optimizer.fused") ||
                              c.has("training.data_parallel_degree");
  const std::string kernel = is_before_2025 ? "optimizer.fused" : "optimizer.implementation";
  if (is_before_2025) {
    optimizer.kernel =
        c.flag(kernel).value_or(false) ? OptimizerKernel::fused : OptimizerKernel::foreach;
  } else {
    optimizer.kernel = c.choice<OptimizerKernel>(kernel, {{"fused", OptimizerKernel::fused},
                                                          {"foreach", OptimizerKernel::foreach},
                                                          {"for-loop", OptimizerKernel::loop}})
                           .value_or(OptimizerKernel::fused);
  }
  c.carry(kernel, {"optimizer.kernel"});
  c.drop_if_set("optimizer.early_step_in_backward",
                "a plan steps after backward, and so keeps all gradients until then");
}

void read_schedule(Conversion& c) {
  OptimizerPlan& optimizer = c.plan.optimizer;
  const std::string warmup = c.first_of({"lr_scheduler.warmup_steps", "training.warmup_steps"});
  c.take(warmup, optimizer.warmup_steps, {0, kMaxSteps}, 200, "optimizer.warmup_steps");
  if (optimizer.warmup_steps > 0) {
    optimizer.warmup_start_factor = 1.0 / static_cast<double>(optimizer.warmup_steps);
    c.imply({"optimizer.warmup_start_factor"}, "the first step has 1/warmup_steps of the rate");
  }
  const std::string_view type = "lr_scheduler.decay_type";
  enum class Decay : std::uint8_t { linear, cosine, sqrt };
  const Decay decay =
      c.choice<Decay>(type,
                      {{"linear", Decay::linear}, {"cosine", Decay::cosine}, {"sqrt", Decay::sqrt}})
          .value_or(Decay::linear);
  optimizer.schedule = decay == Decay::cosine ? Schedule::cosine : Schedule::linear;
  c.carry(type, {"optimizer.schedule"},
          decay == Decay::sqrt ? "a plan has no square root; no memory or time depends on it" : "");
  const std::string length = c.first_of({"lr_scheduler.total_steps", "training.steps"});
  const auto total = c.integer(length, {1, kMaxSteps});
  if (total && *total > optimizer.warmup_steps) {
    optimizer.decay_steps = *total - optimizer.warmup_steps;
    c.carry(length, {"optimizer.decay_steps"});
  }
  const std::string why =
      "a plan's rate falls from the end of the warm-up to zero; no memory or "
      "time depends on it";
  c.drop("lr_scheduler.decay_ratio", why);
  c.drop_unless("lr_scheduler.min_lr_factor", "0", why);
  c.drop_unless("lr_scheduler.lr_min", "0", why);
}

}  // namespace

Result<ConvertedPlan> torchtitan_plan(Value root, const std::string& file) {
  Conversion c(std::move(root), file);
  read_compilation(c);
  const std::optional<std::int64_t> data_ranks = read_torchtitan_parallelism(c);
  read_batch(c, data_ranks);
  read_precision(c);
  c.take("training.enable_cpu_offload", c.plan.offload.parameters, false, "offload.parameters");
  read_checkpointing(c);
  read_optimizer(c);
  read_schedule(c);
  read_float8(c);
  c.plan.pytorch.implementation = Implementation::torchtitan;
  c.imply({"pytorch.implementation"}, "torchtitan's models");
  read_job(c);
  return c.finish("torchtitan configuration");
}

}  // namespace foreshard::foreign
