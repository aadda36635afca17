#include "models/sharding/implementation.hpp"

namespace foreshard {
namespace {

// The Llama of no repository: torchtitan's modules, each line of which does one thing.
constexpr Implementation kTorchtitan{.assumed = "a plain Llama in torchtitan's style",
                                     .modules = torchtitan_modules,
                                     .has_query_key_norms = false,
                                     .repeats_keys = std::nullopt,
                                     .rotary = std::nullopt,
                                     .makes_masks = false,
                                     .norm_is_own = false,
                                     .has_inner_model = false,
                                     .loss_in_model = false,
                                     .rotates_by_heads = false,
                                     .queries_die_first = false,
                                     .repeats_together = false,
                                     .drops_attention_result = false,
                                     .replaces_attention_output = false,
                                     .norm_replaces_input = false,
                                     .slices_hidden_states = false,
                                     .saves_cudnn_attention = false};

// torchtitan/models/llama3/model/model.py. Its attention is given repeated keys and values, from
// 2026-01-27 on enable_gqa.
constexpr Implementation torchtitan_of(std::string_view month, bool repeats_keys) {
  Implementation code = kTorchtitan;
  code.assumed = month;
  code.repeats_keys = repeats_keys;
  code.rotary = Rotary::complex_together;
  code.queries_die_first = true;
  code.repeats_together = true;
  code.drops_attention_result = true;
  code.norm_replaces_input = true;
  code.saves_cudnn_attention = true;
  return code;
}

constexpr Implementation kTorchtitan2025 =
    torchtitan_of("torchtitan of 2025-12 (repeat_kv before attention)", true);
constexpr Implementation kTorchtitan2026 =
    torchtitan_of("torchtitan of 2026-02 (grouped queries by enable_gqa)", false);

constexpr Implementation kTransformers{.assumed = "transformers 5.5.4 (no padding, use_cache off)",
                                       .modules = llama_modules,
                                       .has_query_key_norms = true,
                                       .repeats_keys = false,
                                       .rotary = Rotary::shared_half,
                                       .makes_masks = true,
                                       .norm_is_own = true,
                                       .has_inner_model = true,
                                       .loss_in_model = true,
                                       .rotates_by_heads = true,
                                       .queries_die_first = true,
                                       .repeats_together = false,
                                       .drops_attention_result = true,
                                       .replaces_attention_output = true,
                                       .norm_replaces_input = false,
                                       .slices_hidden_states = true,
                                       .saves_cudnn_attention = true};

}  // namespace

ImplementationName implementation_name(const Plan& plan) {
  const bool is_pytorch = describes_pytorch(plan.operators);
  return plan.pytorch.implementation.value_or(is_pytorch ? ImplementationName::torchtitan
                                                         : ImplementationName::transformers);
}

const Implementation& implementation_of(const Plan& plan) {
  switch (implementation_name(plan)) {
    case ImplementationName::torchtitan: break;
    case ImplementationName::torchtitan_2025_12: return kTorchtitan2025;
    case ImplementationName::torchtitan_2026_02: return kTorchtitan2026;
    case ImplementationName::transformers: return kTransformers;
  }
  return kTorchtitan;
}

bool saves_attention(const Plan& plan, AttentionKernel kernel) {
  if (plan.checkpointing.mode != CheckpointMode::selective || !plan.checkpointing.save_attention) {
    return false;
  }
  switch (kernel) {
    case AttentionKernel::flash:
    case AttentionKernel::efficient: return true;
    case AttentionKernel::cudnn: return implementation_of(plan).saves_cudnn_attention;
    case AttentionKernel::math: break;  // its operators are dispatched one by one
  }
  return false;
}

bool repeats_keys(const Plan& plan) {
  return implementation_of(plan).repeats_keys.value_or(plan.pytorch.repeat_kv);
}

Rotary rotary_of(const Plan& plan) {
  const Rotary of_plan =
      plan.pytorch.rope == RopeArithmetic::complex ? Rotary::complex : Rotary::half;
  return implementation_of(plan).rotary.value_or(of_plan);
}

std::vector<std::int64_t> rotary_buffers(const Module& module, const LlamaConfig& model,
                                         const Plan& plan) {
  const std::int64_t numbers = plan.batch.sequence * model.head_dim;
  switch (rotary_of(plan)) {
    case Rotary::complex:
    case Rotary::complex_together:  // freqs_cis
      if (module.kind == ModuleKind::root) return {4 * numbers};
      break;
    case Rotary::half:  // cosines and sines, in the type of the model
      if (module.kind == ModuleKind::root) return {2 * numbers * item_size(plan.precision.storage)};
      break;
    case Rotary::shared_half:  // inv_freq and original_inv_freq
      if (module.kind == ModuleKind::rotary) return {2 * model.head_dim, 2 * model.head_dim};
      break;
  }
  return {};
}

std::optional<DType> rotary_buffer_type(const Plan& plan) {
  switch (rotary_of(plan)) {
    case Rotary::complex:
    case Rotary::complex_together: break;
    case Rotary::half: return plan.precision.storage;
    case Rotary::shared_half: return DType::fp32;
  }
  return std::nullopt;
}

}  // namespace foreshard
