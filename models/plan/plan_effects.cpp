#include "models/plan/plan_effects.hpp"

#include <algorithm>
#include <string_view>

#include "models/plan/changed_keys.hpp"
#include "models/plan/plan_words.hpp"

namespace foreshard {
namespace {

// Under which plans a key counts. `key` is "section.key", or "section." for all that no earlier row
// names.
struct Effect {
  std::string_view key;
  bool (*counts)(const Plan&);
  std::string_view needed;  // what the plan would need for the key to have an effect
};

bool runs_pytorch(const Plan& p) {
  return describes_pytorch(p.operators);
}
bool is_fsdp2(const Plan& p) {
  return p.runtime == RuntimeName::fsdp2;
}
bool is_fsdp1(const Plan& p) {
  return p.runtime == RuntimeName::fsdp1;
}
bool is_ddp(const Plan& p) {
  return p.runtime == RuntimeName::ddp;
}
bool accumulates(const Plan& p) {
  return p.batch.accumulation > 1;
}
bool has_replicas(const Plan& p) {
  return p.sharding.strategy != Strategy::full_shard &&
         p.sharding.strategy != Strategy::shard_grad_op;
}

constexpr std::string_view kAccumulation = "batch.accumulation of at least 2";
constexpr std::string_view kFsdp1 = "runtime \"fsdp1\"";
constexpr std::string_view kFsdp2 = "runtime \"fsdp2\"";
constexpr std::string_view kSharding = "runtime \"fsdp2\" or \"fsdp1\"";
constexpr std::string_view kDdp = "runtime \"ddp\"";
constexpr std::string_view kAdamw = "optimizer.name \"adamw\"";

constexpr Effect kEffects[] = {
    {"batch.gradient_sync", accumulates, kAccumulation},
    {"batch.all_reduce",
     [](const Plan& p) {
       return accumulates(p) && has_replicas(p) && p.batch.gradient_sync == When::every;
     },
     "batch.accumulation of at least 2, batch.gradient_sync \"every\" and a strategy with replicas "
     "(hybrid_shard, hybrid_shard_zero2, no_shard)"},
    // DDP wraps nothing: "none" is what it does.
    {"wrap.policy", [](const Plan& p) { return !is_ddp(p) || p.wrap.policy == WrapPolicy::none; },
     kSharding},
    {"wrap.layer_class", [](const Plan& p) { return p.wrap.policy == WrapPolicy::transformer; },
     "wrap.policy \"transformer\""},
    {"wrap.min_num_params", [](const Plan& p) { return p.wrap.policy == WrapPolicy::size; },
     "wrap.policy \"size\""},
    {"wrap.modules", [](const Plan& p) { return p.wrap.policy == WrapPolicy::modules; },
     "wrap.policy \"modules\""},
    {"sharding.strategy", [](const Plan& p) { return !is_ddp(p); }, kSharding},
    {"sharding.shard_group", [](const Plan& p) { return !is_ddp(p); }, kSharding},
    {"sharding.reshard_after_backward", [](const Plan& p) { return is_fsdp2(p) && accumulates(p); },
     "runtime \"fsdp2\" and batch.accumulation of at least 2"},
    {"sharding.", is_fsdp2, kFsdp2},
    {"prefetch.forward", is_fsdp2, kFsdp2},
    {"prefetch.backward", is_fsdp2, kFsdp2},
    {"prefetch.unshard_before_forward", is_fsdp2, kFsdp2},
    {"prefetch.", is_fsdp1, kFsdp1},
    {"offload.pin_memory", runs_pytorch,
     "operators that describe PyTorch; Foreshard's own host buffers are pinned always"},
    {"checkpointing.every",
     [](const Plan& p) { return p.checkpointing.mode == CheckpointMode::every; },
     "checkpointing.mode \"every\""},
    {"checkpointing.save",
     [](const Plan& p) { return p.checkpointing.mode == CheckpointMode::selective; },
     "checkpointing.mode \"selective\""},
    {"checkpointing.fraction",
     [](const Plan& p) { return p.checkpointing.mode != CheckpointMode::none; },
     "a checkpointing.mode other than \"none\""},
    {"optimizer.betas", [](const Plan& p) { return p.optimizer.name == OptimizerName::adamw; },
     kAdamw},
    {"optimizer.eps", [](const Plan& p) { return p.optimizer.name == OptimizerName::adamw; },
     kAdamw},
    {"optimizer.warmup_start_factor", [](const Plan& p) { return p.optimizer.warmup_steps > 0; },
     "optimizer.warmup_steps of at least 1"},
    {"optimizer.decay_steps",
     [](const Plan& p) { return p.optimizer.schedule != Schedule::constant; },
     "optimizer.schedule \"linear\" or \"cosine\""},
    {"pytorch.async_unshard", is_fsdp2, kFsdp2},
    {"pytorch.keep_sharded_in_backward", is_fsdp2, kFsdp2},
    {"pytorch.deterministic", [](const Plan& p) { return p.operators != OperatorSetName::xla; },
     "operators other than \"xla\""},
    {"pytorch.implementation", [](const Plan&) { return true; }, ""},
    {"pytorch.compile",
     [](const Plan& p) { return p.operators == OperatorSetName::pytorch_compile; },
     "operators \"pytorch-compile\""},
    {"pytorch.use_orig_params", is_fsdp1, kFsdp1},
    {"pytorch.gpu_timing", [](const Plan& p) { return is_fsdp1(p) || is_ddp(p); },
     "runtime \"fsdp1\" or \"ddp\""},
    {"pytorch.bucket_cap_mb", is_ddp, kDdp},
    {"pytorch.gradient_as_bucket_view", is_ddp, kDdp},
    {"pytorch.static_graph", is_ddp, kDdp},
    {"allocator.", [](const Plan& p) { return p.operators != OperatorSetName::xla; },
     "operators other than \"xla\", which have no caching allocator"},
    {"pytorch.", runs_pytorch, "operators \"pytorch-eager\" or \"pytorch-compile\""},
};

const Effect* effect_of(std::string_view key) {
  const auto found = std::find_if(std::begin(kEffects), std::end(kEffects), [key](const Effect& e) {
    return e.key.ends_with('.') ? key.starts_with(e.key) : key == e.key;
  });
  return found == std::end(kEffects) ? nullptr : found;
}

}  // namespace

std::string_view needed_for_effect(const Plan& plan, std::string_view key) {
  const Effect* effect = effect_of(key);
  return effect == nullptr || effect->counts(plan) ? std::string_view() : effect->needed;
}

std::vector<std::string> settings_without_effect(const Plan& plan) {
  std::vector<std::string> found;
  for (const SpeltKey& key : changed_keys(plan)) {
    const std::string_view needed = needed_for_effect(plan, key.name);
    if (needed.empty()) continue;
    constexpr std::size_t kShown = 60;
    const std::string value =
        key.value.size() <= kShown ? key.value : key.value.substr(0, kShown) + "...";
    found.push_back(key.name + " = " + value + " has no effect here; it needs " +
                    std::string(needed));
  }
  return found;
}

}  // namespace foreshard
