// The plan file's keys, each listed once with the field it sets and the values it may take. The
// reader, the writer and the tests' generators are visitors of this list, so they cannot disagree.
//
// visit_plan_keys(plan, key) calls, for every key in the order of the file,
//
//   key(section, name, field, bounds)
//
// where `section` is empty for keys at the top, `field` refers into the plan (its type decides how the
// value is spelt) and `bounds` limits it.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/plan/plan.hpp"

namespace foreshard {

struct Anything {};  // whatever the field's type can hold

struct Integers {
  std::int64_t least, most;
};

struct Numbers {  // least <= x <= most, or x < most
  double least, most;
  bool most_excluded = false;
};

// Two fields of the plan that one key holds as a list of two numbers.
template <typename T>
struct Pair {
  T &first, &second;
};
template <typename T>
Pair(T&, T&) -> Pair<T>;

// The three choices of checkpointing.save, which one key holds as a list of words.
template <typename T>
struct SavedOutputs {
  T &attention, &matmul, &every_second_matmul;
};
template <typename T>
SavedOutputs(T&, T&, T&) -> SavedOutputs<T>;

// Bounds beyond anything that can be trained, so that byte counts stay within 64 bits.
constexpr std::int64_t kMaxSequences = 1 << 20;
constexpr std::int64_t kMaxTokens = 1 << 24;  // of a rank's micro-step, and so of a sequence
constexpr std::int64_t kMaxAccumulation = 4096;
constexpr std::int64_t kMaxRanks = 1 << 20;
constexpr std::int64_t kMaxUnitsAhead = 10'000;
constexpr std::int64_t kMaxSteps = 1'000'000'000'000;
constexpr std::int64_t kMaxMebibytes = 1 << 20;

template <typename PlanType, typename Visitor>
void visit_plan_keys(PlanType& plan, Visitor&& key) {
  key("", "operators", plan.operators, Anything{});
  key("", "runtime", plan.runtime, Anything{});

  auto& batch = plan.batch;
  key("batch", "micro_batch", batch.micro_batch, Integers{1, kMaxSequences});
  key("batch", "sequence", batch.sequence, Integers{1, kMaxTokens});
  key("batch", "accumulation", batch.accumulation, Integers{1, kMaxAccumulation});
  key("batch", "gradient_sync", batch.gradient_sync, Anything{});
  key("batch", "all_reduce", batch.all_reduce, Anything{});

  auto& wrap = plan.wrap;
  key("wrap", "policy", wrap.policy, Anything{});
  key("wrap", "layer_class", wrap.layer_class, Anything{});
  key("wrap", "min_num_params", wrap.min_num_params, Integers{0, 1'000'000'000'000'000});
  key("wrap", "modules", wrap.modules, Anything{});

  auto& sharding = plan.sharding;
  key("sharding", "strategy", sharding.strategy, Anything{});
  key("sharding", "reshard_after_forward", sharding.reshard_after_forward, Integers{1, kMaxRanks});
  key("sharding", "keep_after_forward", sharding.keep_after_forward, Anything{});
  key("sharding", "reshard_after_backward", sharding.reshard_after_backward, Anything{});
  key("sharding", "shard_group", sharding.shard_group, Integers{0, kMaxRanks});
  key("sharding", "shard_dim", sharding.shard_dim, Integers{0, 1});

  auto& prefetch = plan.prefetch;
  key("prefetch", "forward", prefetch.forward, Integers{0, kMaxUnitsAhead});
  key("prefetch", "backward", prefetch.backward, Integers{0, kMaxUnitsAhead});
  key("prefetch", "unshard_before_forward", prefetch.unshard_before_forward, Anything{});
  key("prefetch", "forward_prefetch", prefetch.forward_prefetch, Anything{});
  key("prefetch", "backward_prefetch", prefetch.backward_prefetch, Anything{});
  key("prefetch", "limit_all_gathers", prefetch.limit_all_gathers, Anything{});

  auto& precision = plan.precision;
  key("precision", "storage", precision.storage, Anything{});
  key("precision", "param", precision.param, Anything{});
  key("precision", "reduce", precision.reduce, Anything{});
  key("precision", "optimizer_state", precision.optimizer_state, Anything{});

  auto& offload = plan.offload;
  key("offload", "parameters", offload.parameters, Anything{});
  key("offload", "pin_memory", offload.pin_memory, Anything{});
  key("offload", "optimizer", offload.optimizer, Anything{});
  key("offload", "activations", offload.activations, Anything{});

  auto& checkpointing = plan.checkpointing;
  key("checkpointing", "mode", checkpointing.mode, Anything{});
  key("checkpointing", "every", checkpointing.every, Integers{1, 10'000});
  key("checkpointing", "save",
      SavedOutputs{checkpointing.save_attention, checkpointing.save_matmul,
                   checkpointing.save_every_second_matmul},
      Anything{});
  key("checkpointing", "fraction", checkpointing.fraction, Numbers{0, 1});

  auto& optimizer = plan.optimizer;
  key("optimizer", "name", optimizer.name, Anything{});
  key("optimizer", "kernel", optimizer.kernel, Anything{});
  key("optimizer", "lr", optimizer.lr, Numbers{0, 1e6});
  key("optimizer", "betas", Pair{optimizer.beta1, optimizer.beta2}, Numbers{0, 1, true});
  key("optimizer", "eps", optimizer.eps, Numbers{0, 1});
  key("optimizer", "weight_decay", optimizer.weight_decay, Numbers{0, 1e6});
  key("optimizer", "clip_grad_norm", optimizer.clip_grad_norm, Numbers{0, 1e30});
  key("optimizer", "schedule", optimizer.schedule, Anything{});
  key("optimizer", "warmup_steps", optimizer.warmup_steps, Integers{0, kMaxSteps});
  key("optimizer", "warmup_start_factor", optimizer.warmup_start_factor, Numbers{0, 1});
  key("optimizer", "decay_steps", optimizer.decay_steps, Integers{0, kMaxSteps});

  auto& allocator = plan.allocator;
  key("allocator", "expandable_segments", allocator.expandable_segments, Anything{});
  key("allocator", "max_split_size_mb", allocator.max_split_size_mb, Integers{0, kMaxMebibytes});
  key("allocator", "roundup_power2_divisions", allocator.roundup_power2_divisions,
      Integers{0, 1 << 10});
  key("allocator", "garbage_collection_threshold", allocator.garbage_collection_threshold,
      Numbers{0, 1, true});

  auto& pytorch = plan.pytorch;
  key("pytorch", "version", pytorch.version, Anything{});
  key("pytorch", "implementation", pytorch.implementation, Anything{});
  key("pytorch", "attention", pytorch.attention, Anything{});
  key("pytorch", "repeat_kv", pytorch.repeat_kv, Anything{});
  key("pytorch", "rope", pytorch.rope, Anything{});
  key("pytorch", "logits", pytorch.logits, Anything{});
  key("pytorch", "keep_logits", pytorch.keep_logits, Anything{});
  key("pytorch", "loss", pytorch.loss, Anything{});
  key("pytorch", "rms_norm", pytorch.rms_norm, Anything{});
  key("pytorch", "float8", pytorch.float8, Anything{});
  key("pytorch", "compile", pytorch.compile, Anything{});
  key("pytorch", "deterministic", pytorch.deterministic, Anything{});
  key("pytorch", "read_loss_every", pytorch.read_loss_every, Integers{1, kMaxSteps});
  key("pytorch", "zero_grad", pytorch.zero_grad, Anything{});
  key("pytorch", "checkpoint_early_stop", pytorch.checkpoint_early_stop, Anything{});
  key("pytorch", "async_unshard", pytorch.async_unshard, Anything{});
  key("pytorch", "keep_sharded_in_backward", pytorch.keep_sharded_in_backward, Anything{});
  key("pytorch", "cublas_workspace_config", pytorch.cublas_workspace_config, Anything{});
  key("pytorch", "use_orig_params", pytorch.use_orig_params, Anything{});
  key("pytorch", "gpu_timing", pytorch.gpu_timing, Anything{});
  key("pytorch", "bucket_cap_mb", pytorch.bucket_cap_mb, Integers{1, kMaxMebibytes});
  key("pytorch", "gradient_as_bucket_view", pytorch.gradient_as_bucket_view, Anything{});
  key("pytorch", "static_graph", pytorch.static_graph, Anything{});
}

}  // namespace foreshard
