// torchtitan's job configuration: TOML of every generation from 2024 until February 2026, and what the
// configurations in Python that took its place export (docs/other-configurations.md has the line), where
// an object says its class. Keys that moved between sections are looked for in all of them. A key that is
// not there has torchtitan's own default.
#include "models/plan/foreign/conversion.hpp"
#include "models/plan/foreign/torchtitan_parallelism.hpp"

namespace foreshard::foreign {
namespace {

constexpr std::string_view kEvaluates = "a plan from torchtitan has training steps only";
constexpr Limit kLimits[] = {
    {"model.norm_type", "rmsnorm", "the models here have RMSNorm"},
    {"fault_tolerance.enable", "", "a plan has no replica groups that may fail"},
    {"validation.enable", "", kEvaluates},
    {"validation.enabled", "", kEvaluates},
    {"validator.enable", "", kEvaluates},
    {"profiling.enable_profiling", "", "the profiler records some steps, which are slower"},
    {"profiler.enable_profiling", "", "the profiler records some steps, which are slower"},
    {"profiling.enable_memory_snapshot", "", "the allocator records its history, which is slower"},
    {"profiler.enable_memory_snapshot", "", "the allocator records its history, which is slower"},
    {"debug.detect_anomaly", "", "autograd records where each operator came from"},
    {"debug.moe_force_load_balance", "", "the models here have no experts"},
    {"override.imports", "", "what replaces parts of the configuration is not described"},
    {"memory_estimation.enabled", "", "does not train"},
    {"parallelism.enable_compiled_autograd", "", "backward as one compiled graph is not described"},
    {"experimental.enable_compiled_autograd", "",
     "backward as one compiled graph is not described"},
    {"experimental.custom_import", "", "what the module changes is not known"},
    {"experimental.custom_args_module", "", "what the module changes is not known"},
    {"experimental.custom_model_path", "", "what the module changes is not known"},
};
constexpr Names kNoEffect =
    "job hf_assets_path dump_folder profiling profiler eval metrics checkpoint comm "
    "memory_estimation estimate fault_tolerance validation validator debug tokenizer "
    "dataloader model.hf_assets_path model.tokenizer_path model.print_after_conversion "
    "model_spec.flavor training.dataset training.dataset_path training.dataloader "
    "training.gc_freq training.gc_debug training.seed";

// Until torchtitan says otherwise, a class is "CompileConfig" or "SelectiveAC.Config".
std::string class_of(const Conversion& c, const std::string& section) {
  const Value* value = c.find(section + ".class");
  return value == nullptr ? "" : value->text;
}

void read_job(Conversion& c) {
  const std::string key = c.first_of({"model.name", "model_spec.name"});
  const auto name = c.string(key);
  const auto flavor = c.string(c.first_of({"model.flavor", "model_spec.flavor"}));
  c.facts.model = name.value_or("llama3") + (flavor ? " " + *flavor : "");
  c.facts.steps = c.integer("training.steps", {1, kMaxSteps});
  if (name && *name != "llama3" && *name != "llama2" && *name != "llama") {
    c.drop(key, name->starts_with("llama") ? "the models here have no experts"
                                           : "the models here are Llamas");
  }
  const std::string deterministic = c.first_of({"debug.deterministic", "training.deterministic"});
  if (c.flag(deterministic).value_or(false)) {
    c.plan.pytorch.deterministic = true;
    c.carry(deterministic, {"pytorch.deterministic"});
  }
  c.take("metrics.log_freq", c.plan.pytorch.read_loss_every, {1, kMaxSteps}, 10,
         "pytorch.read_loss_every");
  if (is_of_registry(c) && c.has("training.disable_cuda_graphs")) {
    c.limit(
        {"training.disable_cuda_graphs", "true",
         "forward and backward run as a CUDA graph, whose pool and launches are not described"});
  }
  c.limit(kLimits);
  c.set_aside(kNoEffect);
}

constexpr const char* kNoRanks =
    "batch.accumulation follows from it and the number of ranks, which is not known; give it with "
    "--ranks";

void read_precision(Conversion& c) {
  PrecisionPlan& precision = c.plan.precision;
  const std::initializer_list<Choice<DType>> dtypes = {{"bfloat16", DType::bf16},
                                                       {"float32", DType::fp32}};
  precision.storage = c.choice<DType>("training.dtype", dtypes).value_or(DType::fp32);
  precision.optimizer_state = precision.storage;
  c.carry("training.dtype", {"precision.storage", "precision.optimizer_state"});
  precision.param = c.choice<DType>("training.mixed_precision_param", dtypes).value_or(DType::bf16);
  c.carry("training.mixed_precision_param", {"precision.param"});
  if (c.plan.runtime == RuntimeName::ddp) {  // under autocast; only FSDP has a type for reductions
    precision.reduce = DType::fp32;
    c.imply({"precision.reduce"}, "DDP reduces gradients in the type of the parameters");
    c.set_aside({"training.mixed_precision_reduce"});
    if (precision.param == DType::bf16) {
      c.plan.pytorch.autocast = Autocast::bf16;
      c.imply({"pytorch.autocast"}, "torchtitan runs DDP under autocast");
    }
    return;
  }
  precision.reduce =
      c.choice<DType>("training.mixed_precision_reduce", dtypes).value_or(DType::fp32);
  c.carry("training.mixed_precision_reduce", {"precision.reduce"});
}

// Since 2026 in tokens.
void read_tokens(Conversion& c, std::optional<std::int64_t> data_ranks) {
  BatchPlan& batch = c.plan.batch;
  const std::string tokens = "training.num_tokens_per_microbatch_per_dp_rank";
  const std::string all = "training.num_tokens_per_train_step";
  c.take("training.max_context_length", batch.sequence, {1, kMaxTokens}, 2048, "batch.sequence");
  const std::int64_t at_once = c.integer(tokens, {1, kMaxTokens}).value_or(16384);
  if (at_once % batch.sequence != 0) {
    c.wrong(tokens, "a multiple of training.max_context_length, " + std::to_string(batch.sequence));
  }
  batch.micro_batch = std::max<std::int64_t>(at_once / batch.sequence, 1);
  c.carry(tokens, {"batch.micro_batch"});
  const auto whole = c.integer(all, {-1, std::int64_t{1} << 50});
  if (!whole || *whole < 1) return c.carry(all, {"batch.accumulation"});
  if (!data_ranks) return c.drop(all, kNoRanks);
  const std::int64_t of_all = *data_ranks * at_once;
  if (*whole % of_all != 0 || *whole / of_all > kMaxAccumulation) {
    return c.wrong(all, "a multiple of " + std::to_string(of_all) +
                            ", the tokens of all data-parallel ranks in a micro-step");
  }
  batch.accumulation = *whole / of_all;
  c.carry(all, {"batch.accumulation"});
}

// Gradients are reduced in every micro-step: nothing switches that off.
void read_batch(Conversion& c, std::optional<std::int64_t> data_ranks) {
  if (c.has("training.num_tokens_per_microbatch_per_dp_rank")) return read_tokens(c, data_ranks);
  BatchPlan& batch = c.plan.batch;
  c.take(c.first_of({"training.local_batch_size", "training.batch_size"}), batch.micro_batch,
         {1, kMaxSequences}, 8, "batch.micro_batch");
  c.take("training.seq_len", batch.sequence, {1, kMaxTokens}, 2048, "batch.sequence");
  const std::string_view global = "training.global_batch_size";
  const auto sequences = c.integer(global, {-1, std::int64_t{1} << 40});
  if (!sequences || *sequences < 1) return c.carry(global, {"batch.accumulation"});
  c.facts.sequences_per_step = sequences;
  if (!data_ranks) {
    return c.drop(std::string(global), kNoRanks);
  }
  const std::int64_t at_once = *data_ranks * batch.micro_batch;
  if (*sequences % at_once != 0 || *sequences / at_once > kMaxAccumulation) {
    return c.wrong(global, "a multiple of " + std::to_string(at_once) +
                               ", local_batch_size times the data-parallel ranks");
  }
  batch.accumulation = *sequences / at_once;
  c.carry(global, {"batch.accumulation"});
}

void save_operators(Conversion& c, std::string_view mode, std::string_view option) {
  CheckpointPlan& checkpointing = c.plan.checkpointing;
  checkpointing.mode = CheckpointMode::selective;
  checkpointing.save_matmul = false;
  checkpointing.save_every_second_matmul = true;
  c.carry(mode, {"checkpointing.mode"});
  c.carry(option, {"checkpointing.save"});
}

constexpr std::string_view kNoBudget =
    "what the compiler keeps within a budget is not described; the plan keeps all";

// The classes of the registry, or nothing where it is none.
void read_checkpointing_class(Conversion& c) {
  const std::string section = "activation_checkpoint", kind = class_of(c, section);
  if (kind.starts_with("SelectiveAC")) {
    save_operators(c, section + ".class", section + ".class");
  } else if (kind.starts_with("FullAC") || kind.empty()) {
    if (!kind.empty()) c.plan.checkpointing.mode = CheckpointMode::full;
    c.carry(section + ".class", {"checkpointing.mode"});
  } else {
    c.drop(section + ".class", std::string(kNoBudget));
  }
}

void read_checkpointing(Conversion& c) {
  enum class Mode : std::uint8_t { none, full, selective, budget };
  const std::string section = "activation_checkpoint.";
  const std::string key = section + "mode", option = section + "selective_ac_option";
  CheckpointPlan& checkpointing = c.plan.checkpointing;
  const bool has_class = is_of_registry(c) && !c.has(key);
  const Mode mode = c.choice<Mode>(key, {{"none", Mode::none},
                                         {"full", Mode::full},
                                         {"selective", Mode::selective},
                                         {"memory_budget", Mode::budget}})
                        .value_or(Mode::selective);
  if (has_class) {
    read_checkpointing_class(c);
  } else if (mode == Mode::budget) {
    c.drop(key, std::string(kNoBudget));
    c.drop(section + "memory_budget", "as " + key);
  } else if (mode == Mode::selective && c.has(option) && shown(*c.find(option)) == "op") {
    save_operators(c, key, option);
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
    c.take(section + "early_stop", c.plan.pytorch.checkpoint_early_stop, false,
           "pytorch.checkpoint_early_stop");
    c.limit({"debug", "", "records what was recomputed, which is slower"}, section);
  }
  if (checkpointing.mode == CheckpointMode::selective) {
    for (const char* fqns :
         {"per_op_sac_force_recompute_mm_shapes_by_fqns", "force_recompute_mm_shapes_by_fqns"}) {
      c.limit({fqns, "[moe.router.gate]", "products of these shapes are recomputed"}, section);
    }
  }
  c.set_aside({option, section + "memory_budget", section + "visualize_memory_budget_pareto",
               section + "early_stop", section + "preserve_rng_state",
               section + "determinism_check", section + "debug",
               section + "per_op_sac_force_recompute_mm_shapes_by_fqns",
               section + "force_recompute_mm_shapes_by_fqns"});
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
    if (components != nullptr) c.carry("compile.components", {"operators", "pytorch.loss"});
    c.limit({"compile.backend", "inductor", "only inductor is described"});
  }
  c.set_aside({"compile.components", "compile.backend"});
  const std::string loss = class_of(c, "loss");
  if (loss.starts_with("Chunked")) {
    c.plan.pytorch.loss = LossKind::chunked;
    c.carry("loss.class", {"pytorch.loss"});
    c.limit({"loss.num_chunks", "8", "a plan's loss has the usual number of chunks"});
  } else if (!loss.empty() && !loss.starts_with("CrossEntropy")) {
    c.drop("loss.class", "a plan's loss is cross-entropy");
  }
  c.set_aside({"loss.loss_fn", "loss.global_vocab_size"});
}

constexpr Names kFloat8Keys =
    "recipe_name filter_fqns emulate enable_fsdp_float8_all_gather "
    "precompute_float8_dynamic_scale_for_fsdp force_recompute_fp8_weight_in_bwd "
    "moe_fqns_prototype moe_fqns";

constexpr Limit kFloat8Limits[] = {
    {"enable_fsdp_float8_all_gather", "",
     "gathers in 8 bits are not described: the plan's have 16"},
    {"precompute_float8_dynamic_scale_for_fsdp", "", "one reduction for all scales is left out"},
    {"force_recompute_fp8_weight_in_bwd", "", "the plan keeps 8-bit weights for backward"},
    {"emulate", "", "emulated products are not described"},
    {"moe_fqns_prototype", "", "the models here have no experts"},
    {"moe_fqns", "", "the models here have no experts"},
};

// All products of the blocks have 8 bits in a plan, and the head's has not.
void read_float8_filter(Conversion& c, const std::string& section, const std::string& key) {
  const Value* filter = c.find(section + "filter_fqns");
  if (!names(filter, "output") && !names(filter, "lm_head")) {
    const std::string shown_key = filter == nullptr ? key : section + "filter_fqns";
    c.drop(shown_key, "the head's product has 8 bits too, which the plan's has not");
  }
  if (filter != nullptr) c.carry(section + "filter_fqns", {"pytorch.float8"});
  if (filter != nullptr && filter->items.size() > 1) {
    c.drop(section + "filter_fqns",
           "the products of all these stay in the compute type; the plan's blocks have none such");
  }
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
  const std::string section =
      c.has("quantize.linear.float8") ? "quantize.linear.float8." : "float8.";
  if (key.empty()) {
    if (converters != nullptr && !converters->items.empty()) {
      c.drop("model.converters", "of the 8-bit formats a plan has float8 only");
    } else {
      c.set_aside({"mx", "quantize.linear.mx", "quantize.grouped_mm"});
    }
    return c.set_aside(kFloat8Keys, section);
  }
  const std::string recipe = section + "recipe_name";
  const std::string name = c.string(recipe).value_or("tensorwise");
  c.plan.pytorch.float8 =
      name.starts_with("rowwise") ? Float8Scaling::rowwise : Float8Scaling::tensorwise;
  c.carry(key, {"pytorch.float8"}, "all products of the blocks");
  if (c.has(recipe)) c.carry(recipe, {"pytorch.float8"});
  if (name == "rowwise_with_gw_hp") {
    c.drop(recipe, "gradients of weights are bf16; the plan has them in 8 bits");
  }
  read_float8_filter(c, section, key);
  c.limit(kFloat8Limits, section);
  c.set_aside(kFloat8Keys, section);
}

// Since 2026 converters replace the classes of the model's linear layers.
void read_linear_classes(Conversion& c) {
  const Value* classes = c.find("model_spec.linear");
  if (classes == nullptr) return;
  for (const Value& item : classes->items) {
    if (item.text == "Linear.Config") continue;
    c.drop("model_spec.linear", "converted layers (8 or 4 bits, adapters) are not described");
  }
  c.set_aside({"model_spec.linear"});
}

// A group of parameters by itself has an optimizer, its name and its arguments.
void read_parameter_groups(Conversion& c) {
  const Value* groups = c.find("optimizer.param_groups");
  const Value* group = groups == nullptr || groups->items.empty() ? nullptr : &groups->items.back();
  const Value* name = group == nullptr ? nullptr : group->find("optimizer_name");
  if (name == nullptr) return;
  if (groups->items.size() > 1) {
    c.drop("optimizer.param_groups",
           "a plan has one optimizer for all; it is that of the last group");
  }
  if (name->text != "AdamW" && name->text != "Adam") {
    c.drop("optimizer.param_groups", "a plan has adamw and sgd; this one keeps adamw");
  }
  OptimizerPlan& optimizer = c.plan.optimizer;
  const Value* arguments = group->find("optimizer_kwargs");
  const auto number = [&](std::string_view key, double fallback, double most) {
    const Value* value = arguments == nullptr ? nullptr : arguments->find(key);
    if (value == nullptr) return fallback;
    const double given =
        value->kind == Value::Kind::integer ? static_cast<double>(value->integer) : value->number;
    if (!(given >= 0 && given <= most)) c.wrong("optimizer.param_groups", "sensible numbers");
    return given;
  };
  optimizer.lr = number("lr", 1e-3, 1e6);
  optimizer.eps = number("eps", 1e-8, 1);
  optimizer.weight_decay = number("weight_decay", 1e-2, 1e6);
  optimizer.beta1 = 0.9;
  optimizer.beta2 = 0.999;
  if (const Value* betas = arguments == nullptr ? nullptr : arguments->find("betas")) {
    if (betas->items.size() == 2) {
      optimizer.beta1 = betas->items[0].number;
      optimizer.beta2 = betas->items[1].number;
    }
    const auto fits = [](double beta) { return beta >= 0 && beta < 1; };
    if (!fits(optimizer.beta1) || !fits(optimizer.beta2)) {
      c.wrong("optimizer.param_groups", "betas from 0 to below 1");
    }
  }
  c.carry("optimizer.param_groups",
          {"optimizer.lr", "optimizer.betas", "optimizer.eps", "optimizer.weight_decay"});
}

void read_rates(Conversion& c) {
  OptimizerPlan& optimizer = c.plan.optimizer;
  c.take("optimizer.lr", optimizer.lr, {0, 1e6}, 8e-4, "optimizer.lr");
  c.take("optimizer.beta1", optimizer.beta1, {0, 1, true}, 0.9, "optimizer.betas");
  c.take("optimizer.beta2", optimizer.beta2, {0, 1, true}, 0.95, "optimizer.betas");
  c.take("optimizer.eps", optimizer.eps, {0, 1}, 1e-8, "optimizer.eps");
  c.take("optimizer.weight_decay", optimizer.weight_decay, {0, 1e6}, 0.1, "optimizer.weight_decay");
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
  if (c.has("optimizer.param_groups")) {
    read_parameter_groups(c);
  } else {
    read_rates(c);
  }
  c.take("training.max_norm", optimizer.clip_grad_norm, {0, 1e30}, 1.0, "optimizer.clip_grad_norm");

  const bool is_before_2025 = c.has("checkpoint.interval_type") || c.has("optimizer.fused") ||
                              c.has("training.data_parallel_degree");
  const std::string kernel = is_before_2025 ? "optimizer.fused" : "optimizer.implementation";
  if (is_before_2025) {
    optimizer.kernel =
        c.flag(kernel).value_or(false) ? OptimizerKernel::fused : OptimizerKernel::foreach;
  } else {
    optimizer.kernel =
        c.choice<OptimizerKernel>(kernel, {{"fused", OptimizerKernel::fused},
                                           {"fused_opt_states_bf16", OptimizerKernel::fused},
                                           {"foreach", OptimizerKernel::foreach},
                                           {"for-loop", OptimizerKernel::loop}})
            .value_or(OptimizerKernel::fused);
  }
  c.carry(kernel, {"optimizer.kernel"});
  if (c.has(kernel) && shown(*c.find(kernel)) == "fused_opt_states_bf16") {
    c.plan.precision.optimizer_state = DType::bf16;
    c.imply({"precision.optimizer_state"}, "the states start in bf16");
  }
  c.limit({"optimizer.early_step_in_backward", "",
           "a plan steps after backward, and so keeps all gradients until then"});
  c.limit({"optimizer.optimizer_factory_kwargs_by_name", "", "arguments that are not described"});
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
  const std::string least = c.first_of({"lr_scheduler.min_lr_factor", "lr_scheduler.lr_min"});
  if (const auto factor = c.number(least, {0, 1})) {
    optimizer.min_lr = *factor * optimizer.lr;
    c.carry(least, {"optimizer.min_lr"});
  }
  // A plan's rate falls from the end of the warm-up on; no memory or time depends on it.
  c.set_aside({"lr_scheduler.decay_ratio"});
}

// Each object of an export says its class, which is read where it decides something.
void set_classes_aside(Conversion& c) {
  c.set_aside({"class", "training.class", "parallelism.class", "activation_checkpoint.class",
               "compile.class", "optimizer.class", "lr_scheduler.class", "loss.class",
               "override.class"});
}

}  // namespace

bool is_of_registry(const Conversion& c) {
  return c.has("class") || c.has("model_spec");
}

Result<ConvertedPlan> torchtitan_plan(Source source) {
  Conversion c(std::move(source));
  read_compilation(c);
  const std::optional<std::int64_t> data_ranks = read_torchtitan_parallelism(c);
  read_batch(c, data_ranks);
  read_precision(c);
  c.take("training.enable_cpu_offload", c.plan.offload.parameters, false, "offload.parameters");
  read_checkpointing(c);
  read_optimizer(c);
  read_schedule(c);
  read_float8(c);
  read_linear_classes(c);
  c.plan.pytorch.implementation = is_of_registry(c) ? ImplementationName::torchtitan_2026_02
                                                    : ImplementationName::torchtitan_2025_12;
  c.imply({"pytorch.implementation"}, is_of_registry(c)
                                          ? "torchtitan's models since February 2026"
                                          : "torchtitan's models while its files were TOML");
  read_job(c);
  set_classes_aside(c);
  return c.finish("torchtitan configuration");
}

}  // namespace foreshard::foreign
