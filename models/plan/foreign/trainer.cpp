// transformers' TrainingArguments, by themselves (JSON, or YAML with TRL's arguments) and as axolotl and
// LLaMA-Factory write them, and the file that their `fsdp_config` may name. A key that is not there has the
// default of transformers 5, or of the tool around it.
#include <algorithm>
#include <array>

#include "models/plan/foreign/deepspeed_config.hpp"
#include "models/plan/foreign/fsdp_config.hpp"

namespace foreshard::foreign {
namespace {

enum class Dialect : std::uint8_t { trainer, axolotl, llama_factory };

constexpr std::string_view kKernels = "its kernels are not those of transformers";
constexpr std::string_view kQuantized = "the weights have few bits; the plan's have 16 or 32";
constexpr std::string_view kOptimizer = "a plan has adamw and sgd";
constexpr std::string_view kAdapter = "a plan's adapters are plain LoRA";
constexpr std::string_view kLengths = "a plan's batches have one length";
constexpr std::string_view kAttention = "a plan's attention runs over whole sequences";
constexpr std::string_view kObjective = "a plan's objective is the next token's cross-entropy";
constexpr std::string_view kOffloaded = "moving activations to the host is not described";
constexpr std::string_view kExperts = "the models here have no experts";

constexpr Limit kLimits[] = {
    {"use_cpu", "", "trains on the CPU; the plan is that of the same run on a GPU"},
    {"no_cuda", "", "trains on the CPU; the plan is that of the same run on a GPU"},
    {"group_by_length", "", "batches have the length of their samples; a plan's have one"},
    {"train_sampling_strategy", "random", kLengths},
    {"neftune_noise_alpha", "", "noise is added to the embedding's output"},
    {"torch_empty_cache_steps", "", "the allocator's cache is emptied every so many steps"},
    {"auto_find_batch_size", "", "the batch shrinks until it fits; the plan has the first"},
    {"use_liger_kernel", "", kKernels},
    {"label_smoothing_factor", "", "the smoothed loss is another script of operators"},
    {"use_cache", "", "keys and values of the forward pass are kept"},
    {"logging_nan_inf_filter", "true", "the plan's loop looks at the loss after every micro-step"},
    {"include_num_input_tokens_seen", "", "tokens are counted over all ranks in every step"},
    {"skip_memory_metrics", "true", "the Trainer measures memory, which is slower"},
    {"debug", "", "every module's values are looked at"},
    {"accelerator_config.split_batches", "", "a rank's micro-batch is divided by the ranks"},
    {"parallelism_config", "", "a plan has data parallelism alone"},
    {"optim_args", "", "arguments of the optimizer that are not described"},
    {"optim_target_modules", "", "projected gradients (GaLore, APOLLO) are not described"},
    {"eval_strategy", "", "[evaluation] in a plan describes it, with training's micro-batch"},
    {"evaluation_strategy", "", "[evaluation] in a plan describes it, with training's micro-batch"},
    {"ddp_broadcast_buffers", "", "buffers are broadcast before each forward"},
    {"ddp_backend", "nccl", "a plan's collectives are NCCL's"},
    // TRL
    {"packing", "", "attention stays inside each sample"},
    {"padding_free", "", "attention stays inside each sample"},
    {"activation_offloading", "", kOffloaded},
    {"loss_type", "nll", kObjective},
    {"load_in_8bit", "", kQuantized},
    {"load_in_4bit", "", kQuantized},
    {"use_dora", "", kAdapter},
    {"lora_modules_to_save", "", kAdapter},
    {"lora_dropout", "", "the adapters' dropout is left out"},
};

constexpr Names kNoEffect =
    "output_dir overwrite_output_dir num_train_epochs warmup_ratio "
    "average_tokens_across_devices bf16_full_eval fp16_full_eval half_precision_backend tf32 "
    "liger_kernel_config logging_strategy logging_steps logging_first_step logging_dir "
    "log_on_each_node log_level log_level_replica disable_tqdm report_to run_name project "
    "trackio_space_id trackio_bucket_id trackio_static_space_id eval_steps eval_delay "
    "per_device_eval_batch_size prediction_loss_only eval_on_start eval_do_concat_batches "
    "eval_use_gather_object eval_accumulation_steps include_for_metrics "
    "include_inputs_for_metrics batch_eval_metrics save_only_model save_strategy save_steps "
    "save_on_each_node save_total_limit save_safetensors enable_jit_checkpoint push_to_hub "
    "hub_token hub_private_repo hub_model_id hub_strategy hub_always_push hub_revision "
    "load_best_model_at_end metric_for_best_model greater_is_better ignore_data_skip "
    "restore_callback_states_from_checkpoint seed data_seed accelerator_config.even_batches "
    "accelerator_config.use_seedable_sampler accelerator_config.non_blocking "
    "accelerator_config.dispatch_batches accelerator_config.gradient_accumulation_kwargs "
    "dataloader_drop_last dataloader_num_workers dataloader_pin_memory "
    "dataloader_persistent_workers dataloader_prefetch_factor "
    "dataloader_multiprocessing_context dataloader_in_order remove_unused_columns label_names "
    "length_column_name ddp_timeout do_train do_eval do_predict resume_from_checkpoint "
    "local_rank jit_mode_eval past_index fp16_opt_level fp16_backend mp_parameters "
    "use_legacy_prediction_loop torchdynamo ray_scope push_to_hub_model_id "
    "push_to_hub_organization push_to_hub_token _n_gpu model_name_or_path model_revision "
    "trust_remote_code dataset_name dataset_config dataset_train_split dataset_test_split "
    "dataset_text_field dataset_num_proc dataset_kwargs dataset_streaming packing_strategy "
    "eval_packing eos_token pad_token pad_to_multiple_of chat_template_path "
    "assistant_only_loss completion_only_loss shuffle_dataset lora_alpha lora_task_type "
    "use_rslora bnb_4bit_quant_type bnb_4bit_quant_storage use_bnb_nested_quant";

constexpr Limit kAxolotlLimits[] = {
    {"sample_packing", "", "attention stays inside each sample"},
    {"batch_flattening", "", "attention stays inside each sample"},
    {"rl", "", kObjective},
    {"reward_model", "", kObjective},
    {"tensor_parallel_size", "1", "a plan has no tensor parallelism"},
    {"context_parallel_size", "1", "a plan has no context parallelism"},
    {"sequence_parallel_degree", "1", "a plan has no sequence parallelism"},
    {"expert_parallel_size", "1", kExperts},
    {"plugins", "", "what a plugin changes is not known"},
    {"chunked_cross_entropy", "", "the logits are never whole"},
    {"cut_cross_entropy", "", "the logits are never whole"},
    {"tiled_mlp", "", "the MLP runs in tiles"},
    {"selective_checkpointing", "", "the operators it saves are not described"},
    {"layer_offloading", "", "layers are moved to the host"},
    {"fp8", "", "the 8-bit products are left out"},
    {"fp8_enable_fsdp_float8_all_gather", "", "gathers in 8 bits are not described"},
    {"qat", "", "quantisation in training is not described"},
    {"gptq", "", kQuantized},
    {"lora_mlp_kernel", "", kKernels},
    {"lora_qkv_kernel", "", kKernels},
    {"lora_o_kernel", "", kKernels},
    {"lora_embedding_kernel", "", kKernels},
    {"lora_on_cpu", "", kAdapter},
    {"lora_target_parameters", "", kAdapter},
    {"lora_rank_pattern", "", kAdapter},
    {"peft_use_dora", "", kAdapter},
    {"peft_layers_to_transform", "", kAdapter},
    {"relora", "", kAdapter},
    {"unfrozen_parameters", "", "only these train; a plan's `frozen` can express it"},
    {"lisa_n_layers", "", "a few layers at a time train"},
    {"gc_steps", "", "memory is collected every so many steps"},
    {"curriculum_sampling", "", kLengths},
    {"use_pose", "", kLengths},
    {"device_map", "", "a plan has data parallelism alone"},
    {"max_memory", "", "what a device may hold decides where layers lie"},
    {"gpu_memory_limit", "", "what a device may hold decides where layers lie"},
    {"deepcompile", "", "DeepCompile's passes are not described"},
    {"dp_shard_size", "1", "the plan shards over all ranks"},
    {"dp_replicate_size", "1", "the plan shards over all ranks"},
    {"profiler_steps", "", "the profiler records some steps, which are slower"},
    {"fp32_norms", "", "the norms' type is that of the model"},
    {"embedding_lr", "", "a group of parameters of its own"},
    {"lr_groups", "", "groups of parameters of their own"},
    {"loraplus_lr_ratio", "", "groups of parameters of their own"},
    {"max_packed_sequence_len", "", kAttention},
    {"xformers_attention", "", kKernels},
    {"flex_attention", "", kKernels},
    {"sage_attention", "", kKernels},
    {"s2_attention", "", kAttention},
    {"flash_attn_cross_entropy", "", kKernels},
    {"flash_attn_rms_norm", "", kKernels},
    {"flash_attn_fuse_mlp", "", kKernels},
    {"eval_sample_packing", "", "[evaluation] in a plan describes evaluation"},
    {"evals_per_epoch", "", "[evaluation] in a plan describes it, with training's micro-batch"},
};
constexpr Names kAxolotlNoEffect =
    "base_model base_model_config model_type tokenizer_type tokenizer_config "
    "tokenizer_use_fast tokenizer_legacy special_tokens tokens datasets test_datasets "
    "pretraining_dataset dataset_prepared_path dataset_processes val_set_size "
    "shuffle_merged_datasets chat_template train_on_inputs pad_to_sequence_len "
    "eval_batch_size eval_sequence_len excess_length_strategy min_sample_len saves_per_epoch "
    "use_tensorboard strict low_cpu_mem_usage is_llama_derived_model is_mistral_derived_model "
    "type_of_model revision_of_model early_stopping_patience loss_watchdog_threshold "
    "loss_watchdog_patience cosine_constant_lr_ratio lora_model_dir "
    "lora_fan_in_fan_out peft_use_rslora peft_init_lora_weights bnb_config_kwargs merge_lora "
    "world_size ddp gradient_accumulation_kwargs streaming skip_prepare_dataset "
    "pretrain_multipack_attn sample_packing_eff_est sample_packing_group_size "
    "sample_packing_bin_size include_tokens_per_second include_tkps default_system_message "
    "hf_use_auth_token push_dataset_to_hub use_ray ray_run_name save_first_step";

constexpr Limit kLlamaFactoryLimits[] = {
    {"neat_packing", "", "attention stays inside each sample"},
    {"quantization_bit", "", kQuantized},
    {"use_unsloth", "", kKernels},
    {"use_unsloth_gc", "", kOffloaded},
    {"use_v1_kernels", "", kKernels},
    {"shift_attn", "", kAttention},
    {"block_diag_attn", "", kAttention},
    {"mixture_of_depths", "", "a plan runs every layer on every token"},
    {"upcast_layernorm", "", "the norms' type is that of the model"},
    {"upcast_lmhead_output", "", "the logits' type is that of the model"},
    {"use_galore", "", kOptimizer},
    {"use_apollo", "", kOptimizer},
    {"use_badam", "", kOptimizer},
    {"use_adam_mini", "", kOptimizer},
    {"use_muon", "", kOptimizer},
    {"use_llama_pro", "", "only the added blocks train"},
    {"pissa_init", "", kAdapter},
    {"additional_target", "", kAdapter},
    {"loraplus_lr_ratio", "", "groups of parameters of their own"},
    {"freeze_trainable_layers", "", "some layers train; a plan's `frozen` can express it"},
    {"freeze_trainable_modules", "", "some modules train; a plan's `frozen` can express it"},
    {"freeze_extra_modules", "", "some modules train; a plan's `frozen` can express it"},
    {"use_dft_loss", "", kObjective},
    {"use_asft_loss", "", kObjective},
    {"use_eaft_loss", "", kObjective},
    {"use_mca", "", "a plan has no Megatron"},
    {"use_hyper_parallel", "", "a plan has data parallelism alone"},
    {"use_kt", "", "a plan has no KTransformers"},
    {"fp8", "", "the 8-bit products are left out"},
    {"fp8_enable_fsdp_float8_all_gather", "", "gathers in 8 bits are not described"},
    {"moe_aux_loss_coef", "", kExperts},
    {"resize_vocab", "", "the embedding grows; the plan has the model's"},
    {"enable_torch_profiler", "", "the profiler records some steps, which are slower"},
    {"device_map", "", "a plan has data parallelism alone"},
};
constexpr Names kLlamaFactoryNoEffect =
    "dataset eval_dataset dataset_dir media_dir template train_on_prompt mask_history "
    "streaming buffer_size mix_strategy interleave_probs overwrite_cache "
    "preprocessing_batch_size preprocessing_num_workers max_samples eval_num_beams "
    "ignore_pad_token_for_loss val_size eval_on_each_dataset tool_format default_system "
    "enable_thinking tokenized_path data_shared_file_system plot_loss compute_accuracy "
    "disable_shuffling early_stopping_steps include_effective_tokens_per_second cache_dir "
    "use_fast_tokenizer split_special_tokens add_tokens add_special_tokens low_cpu_mem_usage "
    "adapter_name_or_path create_new_adapter use_swanlab infer_backend offload_folder "
    "hf_hub_token ms_hub_token print_param_status image_max_pixels image_min_pixels "
    "video_max_pixels freeze_vision_tower freeze_multi_modal_projector ray_run_name "
    "ray_num_workers quantization_method quantization_type double_quantization";

// Names by which other tools know a key of TrainingArguments or TRL.
struct OtherName {
  std::string_view key, other;
};
constexpr OtherName kAxolotlNames[] = {{"per_device_train_batch_size", "micro_batch_size"},
                                       {"max_length", "sequence_len"},
                                       {"optim", "optimizer"},
                                       {"lr_scheduler_type", "lr_scheduler"},
                                       {"num_train_epochs", "num_epochs"},
                                       {"lora_rank", "lora_r"},
                                       {"fsdp_config.version", "fsdp_version"}};
constexpr OtherName kLlamaFactoryNames[] = {{"max_length", "cutoff_len"},
                                            {"attn_implementation", "flash_attn"},
                                            {"use_liger_kernel", "enable_liger_kernel"},
                                            {"lora_target_modules", "lora_target"}};
constexpr OtherName kTrainerNames[] = {{"lora_rank", "lora_r"}};

// Where a DeepSpeed configuration says "auto", transformers fills in these arguments.
struct Filled {
  std::string_view section, key, argument;
  Value usual;
};

Value* entry(Value& map, std::string_view key) {
  const auto found = std::find_if(map.entries.begin(), map.entries.end(),
                                  [key](const Entry& one) { return one.key == key; });
  return found == map.entries.end() ? nullptr : &found->value;
}

// HfTrainerDeepSpeedConfig.trainer_config_process.
void fill_autos(Value& root, Value& deepspeed) {
  const Filled filled[] = {
      {"", "train_micro_batch_size_per_gpu", "per_device_train_batch_size",
       Value::of(std::int64_t{8})},
      {"", "gradient_accumulation_steps", "gradient_accumulation_steps",
       Value::of(std::int64_t{1})},
      {"", "gradient_clipping", "max_grad_norm", Value::of(1.0)},
      {"bf16", "enabled", "bf16", Value::of(false)},
      {"fp16", "enabled", "fp16", Value::of(false)},
      {"optimizer.params", "lr", "learning_rate", Value::of(5e-5)},
      {"optimizer.params", "eps", "adam_epsilon", Value::of(1e-8)},
      {"optimizer.params", "weight_decay", "weight_decay", Value::of(0.0)},
      {"scheduler.params", "warmup_max_lr", "learning_rate", Value::of(5e-5)},
      {"scheduler.params", "warmup_num_steps", "warmup_steps", Value::of(std::int64_t{0})},
  };
  for (const Filled& one : filled) {
    Value* section = &deepspeed;
    for (std::size_t at = 0; section != nullptr && at < one.section.size();) {
      const std::size_t dot = std::min(one.section.find('.', at), one.section.size());
      section = entry(*section, one.section.substr(at, dot - at));
      at = dot + 1;
    }
    Value* value = section == nullptr ? nullptr : entry(*section, one.key);
    if (value == nullptr || value->text != "auto") continue;
    const Value* argument = root.find(one.argument);
    const bool is_given = argument != nullptr && argument->kind != Value::Kind::null;
    *value = is_given ? *argument : one.usual;
    if (is_given) argument->is_understood = true;
  }
}

class TrainerFile {
 public:
  TrainerFile(Conversion& c, Dialect dialect) : c_(c), dialect_(dialect) {}

  std::string read(bool has_deepspeed) {
    rename();
    imply_transformers(c_);
    read_sequence();
    read_attention();
    read_checkpointing();
    read_compilation();
    read_schedule();
    read_adapters();
    const std::string runtime = has_deepspeed ? read_deepspeed() : read_sharding();
    if (!has_deepspeed || !c_.has("deepspeed.optimizer")) read_optimizer();
    read_least_rate();
    if (c_.flag("full_determinism").value_or(false)) {
      c_.plan.pytorch.deterministic = true;
      c_.carry("full_determinism", {"pytorch.deterministic"});
    }
    read_rest();
    return runtime;
  }

 private:
  bool is_axolotl() const { return dialect_ == Dialect::axolotl; }
  bool is_llama_factory() const { return dialect_ == Dialect::llama_factory; }

  void rename() {
    const std::span<const OtherName> names =
        is_axolotl()         ? std::span<const OtherName>(kAxolotlNames)
        : is_llama_factory() ? std::span<const OtherName>(kLlamaFactoryNames)
                             : std::span<const OtherName>(kTrainerNames);
    for (const auto& [key, other] : names) {
      if (c_.has(other)) c_.rename(std::string(key), std::string(other));
    }
  }

  void read_batch() {
    c_.take("per_device_train_batch_size", c_.plan.batch.micro_batch, {1, kMaxSequences},
            is_axolotl() ? 1 : 8, "batch.micro_batch");
    read_accumulation(c_, 1);
  }

  void read_sequence() {
    const std::string key = c_.first_of({"max_length", "max_seq_length"});
    const auto usual = is_axolotl()         ? std::optional<std::int64_t>(512)
                       : is_llama_factory() ? std::optional<std::int64_t>(2048)
                                            : std::nullopt;
    c_.take(key, c_.plan.batch.sequence, {1, kMaxTokens}, usual, "batch.sequence");
    c_.leave_unsaid({"pytorch.attention_mask"});
  }

  void read_attention() {
    const std::string key = "attn_implementation";
    const std::string name = c_.has(key) ? shown(*c_.find(key)) : "";
    const bool is_flash = name == "flash_attention_2" || name == "fa2" ||
                          name == "kernels-community/flash-attn2" || c_.is_on("flash_attention");
    if (is_flash) {
      c_.plan.pytorch.attention = AttentionBackend::flash;
      c_.carry(name.empty() ? "flash_attention" : key, {"pytorch.attention"},
               "the same kernels, called through PyTorch");
    } else if (!name.empty() && name != "sdpa" && name != "auto") {
      c_.drop(key, "a plan's attention is PyTorch's scaled_dot_product_attention");
    } else {
      c_.carry(key, {"pytorch.attention"});
    }
    c_.limit({"eager_attention", "", "a plan's attention is scaled_dot_product_attention"});
    c_.set_aside({"flash_attention", "sdp_attention", key});
  }

  void read_checkpointing() {
    CheckpointPlan& checkpointing = c_.plan.checkpointing;
    const std::string key = c_.first_of({"gradient_checkpointing", "activation_checkpointing"});
    const std::string off = "disable_gradient_checkpointing";  // LLaMA-Factory's
    const bool is_on = c_.is_on(key) || (is_llama_factory() && !c_.is_on(off));
    if (is_on) checkpointing.mode = CheckpointMode::transformers;
    c_.carry(is_llama_factory() && !c_.has(key) ? off : key, {"checkpointing.mode"});
    c_.set_aside({off});
    const std::string reentrant =
        is_llama_factory() ? "use_reentrant_gc"
                           : c_.first_of({"gradient_checkpointing_kwargs.use_reentrant",
                                          "activation_checkpointing_kwargs.use_reentrant"});
    if (is_on) {
      c_.take(reentrant, checkpointing.use_reentrant, is_llama_factory(),
              "checkpointing.use_reentrant");
    } else {
      c_.set_aside({reentrant});
    }
    if (c_.has(key) && shown(*c_.find(key)).starts_with("offload")) {
      c_.drop(key, std::string(kOffloaded));
    }
  }

  void read_compilation() {
    c_.plan.operators = OperatorSetName::pytorch_eager;
    const std::string key = "torch_compile";
    if (c_.is_on(key)) {
      c_.plan.operators = OperatorSetName::pytorch_compile;
      c_.plan.pytorch.compile = CompileScope::model;
      c_.imply({"pytorch.compile"}, "Accelerate compiles the whole model");
      c_.limit({"torch_compile_mode", "default", kCompileMode});
      c_.limit({"torch_compile_backend", "inductor", "only inductor is described"});
      c_.limit({"torch_compile_options", "", kCompileMode});
    } else {
      c_.set_aside({"torch_compile_mode", "torch_compile_backend", "torch_compile_options"});
    }
    c_.carry(key, {"operators"});
  }

  void read_optimizer() {
    OptimizerPlan& optimizer = c_.plan.optimizer;
    const std::string key = "optim";
    const std::string name = c_.has(key) ? shown(*c_.find(key)) : "adamw_torch_fused";
    if (name == "sgd") {
      optimizer.name = OptimizerName::sgd;
      optimizer.kernel = OptimizerKernel::foreach;
    } else if (name == "adamw_torch") {
      optimizer.kernel = OptimizerKernel::foreach;
    } else if (name != "adamw_torch_fused") {
      c_.drop(key, std::string(kOptimizer) + "; this one keeps adamw");
    }
    c_.carry(key, {"optimizer.name", "optimizer.kernel"});
    c_.take("learning_rate", optimizer.lr, {0, 1e6}, 5e-5, "optimizer.lr");
    c_.take("adam_beta1", optimizer.beta1, {0, 1, true}, 0.9, "optimizer.betas");
    c_.take("adam_beta2", optimizer.beta2, {0, 1, true}, 0.999, "optimizer.betas");
    c_.take("adam_epsilon", optimizer.eps, {0, 1}, 1e-8, "optimizer.eps");
    c_.take("weight_decay", optimizer.weight_decay, {0, 1e6}, 0.0, "optimizer.weight_decay");
    c_.take("max_grad_norm", optimizer.clip_grad_norm, {0, 1e30}, 1.0, "optimizer.clip_grad_norm");
  }

  // No memory or time depends on it.
  void read_schedule() {
    OptimizerPlan& optimizer = c_.plan.optimizer;
    const std::string key = "lr_scheduler_type";
    const std::string name = c_.has(key)    ? shown(*c_.find(key))
                             : is_axolotl() ? "cosine"
                                            : "linear";
    const bool has_floor = name == "cosine_with_min_lr";
    optimizer.schedule = name == "cosine" || has_floor  ? Schedule::cosine
                         : name.starts_with("constant") ? Schedule::constant
                                                        : Schedule::linear;
    const bool is_described =
        name == "cosine" || has_floor || name == "linear" || name.starts_with("constant");
    c_.carry(key, {"optimizer.schedule"},
             is_described ? "" : "a plan has no such schedule; no memory or time depends on it");
    const auto total = c_.integer("max_steps", {-1, kMaxSteps});
    if (total && *total > 0) c_.facts.steps = total;
    const auto warmup = c_.number("warmup_steps", {0, 1e12}).value_or(0);
    if (warmup >= 1) {
      optimizer.warmup_steps = static_cast<std::int64_t>(warmup);
      optimizer.warmup_start_factor = 0;
      c_.imply({"optimizer.warmup_start_factor"}, "transformers' warm-up begins at nothing");
    }
    c_.carry("warmup_steps", {"optimizer.warmup_steps"},
             warmup > 0 && warmup < 1 ? "a share of all steps, which the plan leaves out" : "");
    if (c_.facts.steps && *c_.facts.steps > optimizer.warmup_steps) {
      optimizer.decay_steps = *c_.facts.steps - optimizer.warmup_steps;
      c_.carry("max_steps", {"optimizer.decay_steps"});
    }
  }

  // get_cosine_with_min_lr_schedule_with_warmup takes a rate or a share of it; other schedules have other
  // arguments. axolotl has a share for its cosine.
  void read_least_rate() {
    OptimizerPlan& optimizer = c_.plan.optimizer;
    const std::string key = "lr_scheduler_type";
    const bool has_floor = c_.has(key) && shown(*c_.find(key)) == "cosine_with_min_lr";
    const auto take = [&](const std::string& least_key, double unit) {
      const auto least = c_.number(least_key, {0, 1e6});
      if (!least) return;
      optimizer.min_lr = *least * unit;
      c_.carry(least_key, {"optimizer.min_lr"});
    };
    if (has_floor) {
      take("lr_scheduler_kwargs.min_lr", 1);
      take("lr_scheduler_kwargs.min_lr_rate", optimizer.lr);
    }
    if (optimizer.schedule == Schedule::cosine) take("cosine_min_lr_ratio", optimizer.lr);
    c_.set_aside({"lr_scheduler_kwargs", "cosine_min_lr_ratio"});
  }

  void read_adapters() {
    const std::string key = is_axolotl()         ? "adapter"
                            : is_llama_factory() ? "finetuning_type"
                                                 : "use_peft";
    std::string kind = c_.is_on(key) ? shown(*c_.find(key)) : "";
    if (is_llama_factory() && !c_.has(key)) kind = "lora";
    if (is_llama_factory()) c_.limit({"stage", "sft", kObjective});
    if (kind.empty() || kind == "full") {
      c_.set_aside({key, "lora_rank", "lora_target_modules", "lora_target_linear", "lora_r"});
      return;
    }
    if (kind != "lora" && kind != "qlora" && kind != "true") {
      c_.set_aside({"lora_rank", "lora_target_modules", "lora_target_linear"});
      return c_.drop(key, "a plan trains all parameters, or plain LoRA");
    }
    LoraPlan& lora = c_.plan.lora;
    c_.take("lora_rank", lora.rank, {1, 1 << 16}, is_llama_factory() ? 8 : 16, "lora.rank");
    read_targets();
    lora.dtype = AdapterDType::fp32;
    c_.imply({"lora.dtype"}, "PEFT keeps adapters in fp32");
    const std::string why =
        "carried over as plain LoRA: dropout, saved modules, kernels of its own "
        "and, under FSDP, units of its own for adapters are left out";
    c_.has(key) ? c_.drop(key, why) : c_.drop("lora_rank", why);
    if (kind == "qlora") c_.limit({"load_in_4bit", "", kQuantized});
  }

  void read_targets() {
    const std::string key = "lora_target_modules";
    const Value* value = c_.find(key);
    const bool is_every =
        c_.is_on("lora_target_linear") || (value == nullptr && is_llama_factory()) ||
        (value != nullptr && (value->text == "all" || value->text == "all-linear"));
    std::vector<std::string>& targets = c_.plan.lora.targets;
    if (is_every) {
      targets = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
    } else if (value != nullptr) {
      targets = words_of(*value, ",");
      if (std::any_of(targets.begin(), targets.end(),
                      [](const auto& one) { return one.empty(); })) {
        c_.wrong(key, "names of linear layers");
      }
    } else {
      targets = {"q_proj", "v_proj"};
    }
    c_.carry(c_.is_on("lora_target_linear") ? "lora_target_linear" : key, {"lora.targets"},
             value == nullptr && !is_every ? "PEFT's usual ones for a Llama" : "");
    c_.set_aside({key, "lora_target_linear"});
  }

  // Weights in bf16 stay so where nothing is mixed; FSDP's mixed precision makes what trains fp32.
  void read_precision(bool is_ddp) {
    const bool is_bf16 = c_.is_on("bf16") || c_.is_on("bfloat16");
    const bool is_fp16 = c_.is_on("fp16") || c_.is_on("float16");
    const std::string pure = "pure_bf16";
    const std::string type = c_.first_of(
        {"torch_dtype", "dtype", "model_init_kwargs.torch_dtype", "model_init_kwargs.dtype"});
    const bool is_pure = c_.is_on(pure);
    const bool is_loaded = is_pure || (c_.has(type) && shown(*c_.find(type)).ends_with("bfloat16"));
    const Mixed mixed = is_pure   ? Mixed::no
                        : is_bf16 ? Mixed::bf16
                        : is_fp16 ? Mixed::fp16
                                  : Mixed::no;
    PrecisionPlan& precision = c_.plan.precision;
    const bool trains_weights = c_.plan.lora.rank == 0;
    const bool is_kept = is_loaded && (mixed == Mixed::no || is_ddp || !trains_weights);
    if (is_kept) {
      precision.storage = DType::bf16;
      if (trains_weights) precision.optimizer_state = DType::bf16;
      c_.carry(is_pure ? pure : type, {"precision.storage", "precision.optimizer_state"});
    } else if (is_loaded) {
      c_.carry(type, {"precision.storage"}, "with mixed precision FSDP has what trains in fp32");
    } else {
      c_.leave_unsaid({"precision.storage"});
    }
    const std::string key = c_.is_on("fp16")      ? "fp16"
                            : c_.is_on("float16") ? "float16"
                            : c_.has("bfloat16")  ? "bfloat16"
                                                  : "bf16";
    if (is_fp16 && is_bf16) c_.wrong(key, "one of bf16 and fp16");
    read_mixed_precision(c_, key, mixed, is_ddp);
    c_.set_aside({"bf16", "bfloat16", "fp16", "float16", type, pure});
  }

  std::vector<std::string> options() const {
    const Value* value = c_.find("fsdp");
    if (value == nullptr || is_off(*value)) return {};
    std::vector<std::string> words = words_of(*value, " ,");
    std::erase(words, "");
    return words;
  }

  std::string read_sharding() {
    read_batch();
    const bool is_named = c_.is_on("deepspeed");
    if (is_named) {
      c_.drop("deepspeed", "what that file says is not known here; write its content in its place");
      c_.leave_unsaid({"runtime", "sharding.strategy"});
      read_precision(false);
      c_.plan.pytorch.autocast = Autocast::none;
      return " (DeepSpeed)";
    }
    const bool is_sharded = c_.is_on("fsdp") || (is_axolotl() && c_.is_on("fsdp_config"));
    if (!is_sharded) {
      c_.set_aside({"fsdp", "fsdp_config"});
      read_precision(true);
      read_data_parallel(c_, "fsdp");
      read_ddp();
      return " (data parallel)";
    }
    for (const std::string_view key :
         {"ddp_bucket_cap_mb", "ddp_find_unused_parameters", "ddp_static_graph"}) {
      c_.set_aside({key});
    }
    read_precision(false);
    FsdpSource source{true, "fsdp_config.", options()};
    if (const Value* config = c_.find("fsdp_config"); config != nullptr && !config->text.empty()) {
      c_.drop("fsdp_config",
              "what that file says is not known here; write its content in its place");
    }
    const int version = read_fsdp(c_, source);
    if (c_.has("fsdp") && version == 2) c_.set_aside({"fsdp"});
    return " (FSDP " + std::to_string(version) + ")";
  }

  void read_ddp() {
    PyTorchPlan& pytorch = c_.plan.pytorch;
    const auto cap = c_.integer("ddp_bucket_cap_mb", {1, 1 << 20});
    if (cap) pytorch.bucket_cap_mb.mebibytes = *cap;
    c_.carry("ddp_bucket_cap_mb", {"pytorch.bucket_cap_mb"});
    // Trainer._wrap_model: for transformers' models where nothing is checkpointed
    c_.take("ddp_find_unused_parameters", pytorch.find_unused_parameters,
            c_.plan.checkpointing.mode == CheckpointMode::none, "pytorch.find_unused_parameters");
    c_.take("ddp_static_graph", pytorch.static_graph, false, "pytorch.static_graph");
  }

  std::string read_deepspeed() {
    c_.enter("deepspeed.");
    const std::int64_t stage = read_deepspeed_config(c_);
    c_.enter("");
    return " (DeepSpeed ZeRO " + std::to_string(stage) + ")";
  }

  void read_rest() {
    c_.limit(kLimits);
    c_.set_aside(kNoEffect);
    if (is_axolotl()) {
      c_.limit(kAxolotlLimits);
      c_.set_aside(kAxolotlNoEffect);
      c_.set_aside_all({"wandb_", "use_wandb", "mlflow_", "use_mlflow", "comet_", "use_comet",
                        "otel_", "use_otel", "trackio_", "use_trackio", "gradio_", "generat"});
      c_.limit_all({"liger_", "", kKernels});
      c_.limit_all({"qgalore_", "", kOptimizer});
    } else if (is_llama_factory()) {
      c_.limit(kLlamaFactoryLimits);
      c_.set_aside(kLlamaFactoryNoEffect);
      c_.set_aside_all({"swanlab_", "galore_", "apollo_", "badam_", "pref_", "ppo_", "export_",
                        "vllm_", "sglang_", "kt_", "ref_model", "reward_model", "profiler_"});
    }
  }

  Conversion& c_;
  Dialect dialect_;
};

Result<ConvertedPlan> plan_of(Source source, Dialect dialect, const std::string& name) {
  Value* deepspeed = entry(source.root, "deepspeed");
  const bool has_deepspeed = deepspeed != nullptr && deepspeed->kind == Value::Kind::map;
  if (has_deepspeed) {
    Value filled = *deepspeed;
    fill_autos(source.root, filled);
    *deepspeed = std::move(filled);
  }
  Conversion c(std::move(source));
  const std::string runtime = TrainerFile(c, dialect).read(has_deepspeed);
  return c.finish(name + " configuration" + runtime);
}

}  // namespace

Result<ConvertedPlan> trainer_plan(Source source) {
  return plan_of(std::move(source), Dialect::trainer, "transformers' Trainer");
}

Result<ConvertedPlan> axolotl_plan(Source source) {
  return plan_of(std::move(source), Dialect::axolotl, "axolotl");
}

Result<ConvertedPlan> llama_factory_plan(Source source) {
  return plan_of(std::move(source), Dialect::llama_factory, "LLaMA-Factory");
}

Result<ConvertedPlan> fsdp_config_plan(Source source) {
  Conversion c(std::move(source));
  c.plan.operators = OperatorSetName::pytorch_eager;
  c.imply({"operators"}, "transformers' Trainer");
  imply_transformers(c);
  const int version = read_fsdp(c, {true, "", {}});
  c.plan.optimizer.kernel = OptimizerKernel::foreach;
  c.leave_unsaid({"batch.micro_batch", "batch.sequence", "precision.param", "optimizer.name",
                  "optimizer.kernel", "optimizer.lr"});
  return c.finish("transformers' fsdp_config (FSDP " + std::to_string(version) + ")");
}

}  // namespace foreshard::foreign
