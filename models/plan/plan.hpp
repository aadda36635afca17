// A plan describes how a model is trained: batch, wrapping, sharding, prefetch, precision, offload,
// checkpointing, optimizer, allocator. It is what a plan file (TOML) holds; every key has a default,
// unknown keys and impossible values are errors. Words are those of PyTorch FSDP.
//
// The enumerators are spelt as the plan file spells them, as far as C++ permits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/dtype.hpp"
#include "models/base/error.hpp"
#include "models/plan/pytorch_plan.hpp"

namespace foreshard {

enum class OperatorSetName : std::uint8_t { foreshard, pytorch_eager, pytorch_compile, xla };

constexpr bool describes_pytorch(OperatorSetName operators) {
  return operators == OperatorSetName::pytorch_eager ||
         operators == OperatorSetName::pytorch_compile;
}

enum class RuntimeName : std::uint8_t { fsdp2, fsdp1, ddp };
enum class When : std::uint8_t { every, last };

struct BatchPlan {
  std::int64_t micro_batch = 4;   // sequences per rank and micro-step
  std::int64_t sequence = 512;    // tokens
  std::int64_t accumulation = 1;  // micro-steps per optimizer step
  When gradient_sync = When::every;
  When all_reduce = When::every;
  bool operator==(const BatchPlan&) const = default;
};

enum class WrapPolicy : std::uint8_t { none, transformer, size, modules };

// One entry of wrap.modules: a glob, each of whose matches is a unit of its own, or a list of globs,
// all of whose matches are one unit, in the order of the list.
struct WrapGroup {
  std::vector<std::string> globs;
  bool is_one_unit = false;
  bool operator==(const WrapGroup&) const = default;
};

struct WrapPlan {
  WrapPolicy policy = WrapPolicy::transformer;
  std::vector<std::string> layer_class = {"LlamaDecoderLayer"};
  std::int64_t min_num_params = 100'000'000;
  std::vector<WrapGroup> modules;
  bool operator==(const WrapPlan&) const = default;
};

enum class Strategy : std::uint8_t {
  full_shard,
  shard_grad_op,
  no_shard,
  hybrid_shard,
  hybrid_shard_zero2
};

// What happens to a unit's unsharded parameters after its forward: PyTorch's default (the root
// keeps them, all others reshard), always, never, or reshard to groups of `group` ranks.
struct ReshardAfterForward {
  enum class Kind : std::uint8_t { automatic, yes, no, group };
  Kind kind = Kind::automatic;
  std::int64_t group = 0;
  bool operator==(const ReshardAfterForward&) const = default;
};

struct ShardingPlan {
  Strategy strategy = Strategy::full_shard;
  ReshardAfterForward reshard_after_forward;
  std::vector<std::string> keep_after_forward;
  When reshard_after_backward = When::every;
  std::int64_t shard_group = 0;  // ranks per shard group of a hybrid strategy; 0: those of a node
  std::int64_t shard_dim = 0;
  bool operator==(const ShardingPlan&) const = default;
};

enum class BackwardPrefetch : std::uint8_t { pre, post, none };

struct PrefetchPlan {
  std::int64_t forward = 0;                  // 0: PyTorch's implicit rule
  std::optional<std::int64_t> backward = 0;  // 0: the implicit rule; nothing: off
  bool unshard_before_forward = false;
  bool forward_prefetch = false;                               // fsdp1
  BackwardPrefetch backward_prefetch = BackwardPrefetch::pre;  // fsdp1
  bool limit_all_gathers = true;                               // fsdp1
  bool operator==(const PrefetchPlan&) const = default;
};

struct PrecisionPlan {
  DType storage = DType::fp32;
  DType param = DType::bf16;
  std::optional<DType> reduce = DType::fp32;  // nothing: the dtype of the gradients that arrive
  DType optimizer_state = DType::fp32;
  bool operator==(const PrecisionPlan&) const = default;
};

struct OffloadPlan {
  bool parameters = false;
  bool pin_memory = true;
  bool optimizer = false;
  bool activations = false;
  bool operator==(const OffloadPlan&) const = default;
};

enum class CheckpointMode : std::uint8_t { none, full, every, selective, transformers };

struct CheckpointPlan {
  CheckpointMode mode = CheckpointMode::none;
  std::int64_t every = 2;
  bool save_attention = true;  // selective: which operators' outputs are kept
  bool save_matmul = true;
  bool save_every_second_matmul = false;
  double fraction = 1.0;       // of the blocks that `mode` takes, spread evenly
  bool use_reentrant = false;  // transformers
  bool operator==(const CheckpointPlan&) const = default;
};

enum class OptimizerName : std::uint8_t { adamw, sgd };
enum class OptimizerKernel : std::uint8_t { fused, foreach, loop };
enum class Schedule : std::uint8_t { constant, linear, cosine };

struct OptimizerPlan {
  OptimizerName name = OptimizerName::adamw;
  OptimizerKernel kernel = OptimizerKernel::fused;
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.1;
  double momentum = 0.0;        // sgd
  double clip_grad_norm = 1.0;  // 0: off
  Schedule schedule = Schedule::constant;
  std::int64_t warmup_steps = 0;
  double warmup_start_factor = 0.1;
  std::int64_t decay_steps = 0;  // 0: the steps after the warm-up
  double min_lr = 0.0;           // at the end of the decay and after it
  bool operator==(const OptimizerPlan&) const = default;
};

// The settings of PyTorch's caching allocator, by the names of PYTORCH_CUDA_ALLOC_CONF.
struct AllocatorSettings {
  bool expandable_segments = false;
  std::int64_t max_split_size_mb = 0;  // 0: unlimited
  std::int64_t roundup_power2_divisions = 0;
  double garbage_collection_threshold = 0.0;  // of what memory_fraction allows
  double memory_fraction = 1.0;               // 1: no limit, and no collection
  bool operator==(const AllocatorSettings&) const = default;
};

// Low-rank adapters of linear layers, the only parameters that train where there are any.
enum class AdapterDType : std::uint8_t { storage, fp32 };
struct LoraPlan {
  std::int64_t rank = 0;             // 0: no adapters
  std::vector<std::string> targets;  // last components of module names
  AdapterDType dtype = AdapterDType::storage;
  bool operator==(const LoraPlan&) const = default;
};

// Forward passes without gradients after each `every`-th step.
struct EvaluationPlan {
  std::int64_t every = 0;  // 0: never
  std::int64_t batches = 1;
  bool operator==(const EvaluationPlan&) const = default;
};

struct Plan {
  OperatorSetName operators = OperatorSetName::foreshard;
  RuntimeName runtime = RuntimeName::fsdp2;
  std::vector<std::string> frozen;  // globs of modules without gradients
  BatchPlan batch;
  WrapPlan wrap;
  ShardingPlan sharding;
  PrefetchPlan prefetch;
  PrecisionPlan precision;
  OffloadPlan offload;
  CheckpointPlan checkpointing;
  OptimizerPlan optimizer;
  AllocatorSettings allocator;
  LoraPlan lora;
  EvaluationPlan evaluation;
  PyTorchPlan pytorch;

  std::int64_t tokens() const { return batch.micro_batch * batch.sequence; }  // per micro-step
  bool operator==(const Plan&) const = default;
};

// A plan file's text; `file` is used in messages only.
Result<Plan> parse_plan(std::string_view toml, const std::string& file);
Result<Plan> load_plan(const std::string& path);

// The plan as a plan file with every key written out; parse_plan reads it back unchanged.
std::string to_toml(const Plan& plan);

// Every key in the order of the file, its value as the plan file spells it.
struct SpeltKey {
  std::string name;   // "section.key"
  std::string value;  // empty: a key that is not written, `pytorch.implementation` alone
};
std::vector<SpeltKey> spelt_keys(const Plan& plan);

// Whether a decoder block, counted from 0, is checkpointed.
bool is_checkpointed(const CheckpointPlan& checkpointing, std::int64_t block);

// The learning rate of step `step` (counted from 1) of `total_steps`, which sets decay_steps' default.
double learning_rate(const OptimizerPlan& optimizer, std::int64_t step, std::int64_t total_steps);

}  // namespace foreshard
