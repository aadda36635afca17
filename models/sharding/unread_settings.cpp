#include "models/sharding/unread_settings.hpp"

#include <algorithm>

#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_words.hpp"
#include "models/sharding/accelerate.hpp"
#include "models/sharding/implementation.hpp"
#include "models/sharding/layer_attention.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard {
namespace {

struct Unread {
  std::string_view key;
  bool is_unread;
  std::string reason;
};

// Keys with which the code of an implementation has no choice.
std::vector<Unread> without_choice(const Plan& plan) {
  const Implementation& code = implementation_of(plan);
  const PyTorchPlan &set = plan.pytorch, usual;
  const std::string reason = "it needs pytorch.implementation \"torchtitan\"";
  return {{"pytorch.repeat_kv", code.repeats_keys && set.repeat_kv != usual.repeat_kv, reason},
          {"pytorch.rope", code.rotary && set.rope != usual.rope, reason},
          {"pytorch.logits", code.loss_in_model && set.logits != usual.logits, reason},
          {"pytorch.rms_norm", code.norm_is_own && set.rms_norm != usual.rms_norm, reason}};
}

// What a Trainer does in one way.
std::vector<Unread> in_a_trainer(const Plan& plan) {
  const bool is_trainer = runs_in_trainer(plan);
  return {{"pytorch.zero_grad", is_trainer && plan.pytorch.zero_grad != ZeroGrad::none,
           "a Trainer's model.zero_grad() leaves no gradients"},
          {"pytorch.keep_logits", is_trainer && plan.pytorch.keep_logits,
           "a Trainer lets go of them before backward"}};
}

std::vector<Unread> in_adapters(const Plan& plan) {
  const bool has_adapters = plan.lora.rank > 0;
  const bool is_wide = has_adapters && plan.lora.dtype == AdapterDType::fp32;
  return {{"lora.dtype", is_wide && plan.precision.storage == DType::fp32,
           "precision.storage is fp32 already"},
          {"frozen", has_adapters && !plan.frozen.empty(), "only the adapters of lora.rank train"}};
}

// Parameters that are gathered in 16 bits leave autocast nothing to cast.
std::vector<Unread> with_autocast(const Plan& plan) {
  return {{"pytorch.autocast",
           plan.pytorch.autocast == Autocast::bf16 && plan.precision.param == DType::bf16,
           "parameters and activations are in bf16 already (precision.param)"}};
}

// With parameters on the host the optimizer steps there.
std::vector<Unread> on_the_host(const Plan& plan) {
  const bool steps_there = plan.offload.parameters;
  return {{"optimizer.kernel", steps_there && plan.optimizer.kernel != OptimizerKernel::foreach,
           "with offload.parameters the step is one pass over the host's memory"},
          {"optimizer.clip_grad_norm", steps_there && plan.optimizer.clip_grad_norm == 0,
           "with offload.parameters gradients are clipped on the host, which is not described"},
          {"offload.pin_memory", steps_there && !plan.offload.pin_memory,
           "copies take the time of those from pinned memory, and memory on the device is the "
           "same"}};
}

// A bucket takes gradients until it is full, so that one holds all that are smaller than any cap.
bool fits_one_bucket(const Job& job) {
  constexpr std::int64_t kSmallestCap = 1 << 20;
  std::int64_t bytes = 0;
  for (const Parameter& parameter : job.tree.parameters) {
    if (parameter.trains) bytes += parameter.numel() * item_size(storage_of(job.plan, parameter));
  }
  return bytes <= kSmallestCap;
}

// Where neither the kernel that a plan names, nor what selective checkpointing is asked to keep, is that of
// any layer: what there is instead.
std::vector<std::string> unheeded_attention(const Job& job) {
  const Plan& plan = job.plan;
  const bool is_named = plan.pytorch.attention != AttentionBackend::automatic;
  const bool is_kept =
      plan.checkpointing.mode == CheckpointMode::selective && plan.checkpointing.save_attention;
  if (!is_named && !is_kept) return {};
  const std::vector<AttendingLayers> groups = attending_layers(job);
  const auto is_first_choice = [](const AttendingLayers& g) {
    return g.attention.chosen.is_first_choice;
  };
  const auto is_saved = [&](const AttendingLayers& g) {
    return saves_attention(plan, g.attention.chosen.kernel);
  };
  std::vector<std::string> sentences;
  if (is_named && std::none_of(groups.begin(), groups.end(), is_first_choice)) {
    sentences.push_back("pytorch.attention = " + spelt(std::string(word(plan.pytorch.attention))) +
                        " is not what runs here, but " + attention_in_words(job));
  }
  if (is_kept && std::none_of(groups.begin(), groups.end(), is_saved)) {
    sentences.push_back(
        "checkpointing.save: attention is computed again, as the list of what is saved does not "
        "name " +
        attention_in_words(job));
  }
  return sentences;
}

}  // namespace

std::vector<std::string> unread_settings(const Job& job) {
  const Plan& plan = job.plan;
  const bool is_pytorch = describes_pytorch(plan.operators);
  std::vector<Unread> all = {
      {"checkpointing.mode",
       plan.checkpointing.mode == CheckpointMode::transformers &&
           plan.operators != OperatorSetName::pytorch_eager,
       "operators \"" + std::string(word(plan.operators)) + "\" take it for \"full\""},
      {"prefetch.unshard_before_forward",
       plan.prefetch.unshard_before_forward && job.units.front().parameters.empty(),
       "the root has no parameters of its own"},
      {"pytorch.deterministic",
       plan.pytorch.deterministic && plan.operators == OperatorSetName::foreshard &&
           job.own_device.kind == DeviceKind::cpu,
       "Foreshard's kernels on a CPU are deterministic always"},
      {"pytorch.bucket_cap_mb",
       plan.runtime == RuntimeName::ddp && plan.pytorch.bucket_cap_mb.mebibytes &&
           fits_one_bucket(job),
       "all gradients fit into one bucket"}};
  if (is_pytorch) {
    for (auto* more : {without_choice, with_autocast, in_a_trainer, in_adapters, on_the_host}) {
      for (Unread& unread : more(plan)) all.push_back(std::move(unread));
    }
  }
  std::vector<std::string> sentences;
  for (const Unread& unread : all) {
    if (!unread.is_unread) continue;
    sentences.push_back(std::string(unread.key) + " = " +
                        spelt(find_plan_key(unread.key)->value_in(plan)) + " has no effect here; " +
                        unread.reason);
  }
  if (is_pytorch) {
    for (std::string& sentence : unheeded_attention(job)) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace foreshard
