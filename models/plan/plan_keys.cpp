#include "models/plan/plan_keys.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "models/plan/plan_field.hpp"

namespace foreshard {
namespace {

// --- Needs ---

constexpr PlanNeed kPyTorch{[](const Plan& p) { return describes_pytorch(p.operators); },
                            "operators \"pytorch-eager\" or \"pytorch-compile\""};
constexpr PlanNeed kCompile{
    [](const Plan& p) { return p.operators == OperatorSetName::pytorch_compile; },
    "operators \"pytorch-compile\""};
constexpr PlanNeed kEager{
    [](const Plan& p) { return p.operators == OperatorSetName::pytorch_eager; },
    "operators \"pytorch-eager\""};
constexpr PlanNeed kNoXla{[](const Plan& p) { return p.operators != OperatorSetName::xla; },
                          "operators other than \"xla\""};
constexpr PlanNeed kCachingAllocator{
    kNoXla.is_met, "operators other than \"xla\", which have no caching allocator"};
constexpr PlanNeed kPinsByChoice{
    kPyTorch.is_met,
    "operators that describe PyTorch; Foreshard's own host buffers are pinned always"};

constexpr PlanNeed kFsdp2{[](const Plan& p) { return p.runtime == RuntimeName::fsdp2; },
                          "runtime \"fsdp2\""};
constexpr PlanNeed kFsdp1{[](const Plan& p) { return p.runtime == RuntimeName::fsdp1; },
                          "runtime \"fsdp1\""};
constexpr PlanNeed kDdp{[](const Plan& p) { return p.runtime == RuntimeName::ddp; },
                        "runtime \"ddp\""};
constexpr PlanNeed kSharding{[](const Plan& p) { return p.runtime != RuntimeName::ddp; },
                             "runtime \"fsdp2\" or \"fsdp1\""};
// DDP wraps nothing: "none" is what it does.
constexpr PlanNeed kWraps{
    [](const Plan& p) { return kSharding.is_met(p) || p.wrap.policy == WrapPolicy::none; },
    kSharding.text};

// DDP reduces gradients in their own type.
constexpr PlanNeed kReduceType{
    [](const Plan& p) { return kSharding.is_met(p) || !p.precision.reduce; }, kSharding.text};

constexpr PlanNeed kAccumulation{[](const Plan& p) { return p.batch.accumulation > 1; },
                                 "batch.accumulation of at least 2"};
constexpr PlanNeed kReducesEach{[](const Plan& p) { return p.batch.gradient_sync == When::every; },
                                "batch.gradient_sync \"every\""};
constexpr PlanNeed kReplicas{
    [](const Plan& p) {
      return p.sharding.strategy != Strategy::full_shard &&
             p.sharding.strategy != Strategy::shard_grad_op;
    },
    "a strategy with replicas (hybrid_shard, hybrid_shard_zero2, no_shard)"};

constexpr PlanNeed kWrapsClasses{
    [](const Plan& p) { return p.wrap.policy == WrapPolicy::transformer; },
    "wrap.policy \"transformer\""};
constexpr PlanNeed kWrapsBySize{[](const Plan& p) { return p.wrap.policy == WrapPolicy::size; },
                                "wrap.policy \"size\""};
constexpr PlanNeed kWrapsModules{[](const Plan& p) { return p.wrap.policy == WrapPolicy::modules; },
                                 "wrap.policy \"modules\""};

constexpr PlanNeed kStatesAlone{[](const Plan& p) { return !p.offload.parameters; },
                                "offload.parameters = false, which takes the states along"};
constexpr PlanNeed kOffloadedParameters{[](const Plan& p) { return p.offload.parameters; },
                                        "offload.parameters"};

constexpr PlanNeed kEveryNth{
    [](const Plan& p) { return p.checkpointing.mode == CheckpointMode::every; },
    "checkpointing.mode \"every\""};
constexpr PlanNeed kSelective{
    [](const Plan& p) { return p.checkpointing.mode == CheckpointMode::selective; },
    "checkpointing.mode \"selective\""};
constexpr PlanNeed kOfTransformers{
    [](const Plan& p) { return p.checkpointing.mode == CheckpointMode::transformers; },
    "checkpointing.mode \"transformers\""};
constexpr PlanNeed kCheckpoints{
    [](const Plan& p) { return p.checkpointing.mode != CheckpointMode::none; },
    "a checkpointing.mode other than \"none\""};

constexpr PlanNeed kStopsByChoice{
    [](const Plan& p) { return p.checkpointing.mode != CheckpointMode::transformers; },
    "a checkpointing.mode other than \"transformers\", which always stops early"};

constexpr PlanNeed kAdamw{[](const Plan& p) { return p.optimizer.name == OptimizerName::adamw; },
                          "optimizer.name \"adamw\""};
constexpr PlanNeed kSgd{[](const Plan& p) { return p.optimizer.name == OptimizerName::sgd; },
                        "optimizer.name \"sgd\""};
constexpr PlanNeed kStates{
    [](const Plan& p) { return kAdamw.is_met(p) || p.optimizer.momentum > 0; },
    "an optimizer with states (adamw, or sgd with momentum)"};
constexpr PlanNeed kWarmsUp{[](const Plan& p) { return p.optimizer.warmup_steps > 0; },
                            "optimizer.warmup_steps of at least 1"};
constexpr PlanNeed kDecays{[](const Plan& p) { return p.optimizer.schedule != Schedule::constant; },
                           "optimizer.schedule \"linear\" or \"cosine\""};

constexpr PlanNeed kLimitedMemory{[](const Plan& p) { return p.allocator.memory_fraction < 1; },
                                  "allocator.memory_fraction below 1"};
constexpr PlanNeed kAdapters{[](const Plan& p) { return p.lora.rank > 0; },
                             "lora.rank of at least 1"};
constexpr PlanNeed kEvaluates{[](const Plan& p) { return p.evaluation.every > 0; },
                              "evaluation.every of at least 1"};
constexpr PlanNeed kHalfLogits{[](const Plan& p) {
                                 return p.precision.param == DType::bf16 ||
                                        p.pytorch.autocast == Autocast::bf16;
                               },
                               "precision.param or pytorch.autocast \"bf16\""};
constexpr PlanNeed kTransformersModules{
    [](const Plan& p) { return p.pytorch.implementation == ImplementationName::transformers; },
    "pytorch.implementation \"transformers\""};

// --- Plans under which a key decides only what is learned ---

bool always(const Plan&) {
  return true;
}

// SGD's foreach and loop kernels make a tensor of decayed gradients.
bool decays_in_place(const Plan& p) {
  return !describes_pytorch(p.operators) || p.offload.parameters ||
         p.optimizer.name != OptimizerName::sgd || p.optimizer.kernel == OptimizerKernel::fused;
}

// Foreshard's own step has the norm whether or not it clips by it, XLA's fuses both.
bool has_norm_anyway(const Plan& p) {
  return !describes_pytorch(p.operators);
}

// --- Rows ---

template <typename Access>
PlanField field_of(std::string_view name, Access access, AllowedValues allowed = {},
                   std::string_view nothing = {}) {
  const Plan plan;
  plan_field::limit(allowed, access(plan));
  if (!nothing.empty()) allowed.words.push_back(nothing);
  return {name, std::move(allowed), [](const Plan& p) { return plan_field::value_of(Access{}(p)); },
          [](Plan& p, const PlanValue& value, const AllowedValues& limits) {
            auto&& field = Access{}(p);
            return plan_field::take(field, value, limits);
          },
          nothing};
}

// The field of a key and its name are one.
#define FIELD(path, ...) \
  field_of(              \
      #path, [](auto& plan) -> auto& { return plan.path; } __VA_OPT__(, ) __VA_ARGS__)

AllowedValues integers(std::int64_t least, std::int64_t most) {
  return {.integers = Integers{least, most}};
}
AllowedValues numbers(Numbers bounds) {
  return {.numbers = bounds};
}

std::vector<PlanKey> make_keys() {
  constexpr std::int64_t kMaxUnitsAhead = 10'000;
  constexpr std::int64_t kMaxMebibytes = 1 << 20;
  return {
      {.field = FIELD(operators),
       .meaning = "Set of operators: Foreshard's own, those that PyTorch runs, or XLA's (TPUs, "
                  "whatever this says)."},
      {.field = FIELD(runtime),
       .meaning = "Data-parallel runtime, as in PyTorch.",
       .remedies = {"fsdp2"}},
      {.field = FIELD(frozen),
       .meaning = "Globs of Hugging Face module names whose parameters take no gradient.",
       .needs = {kPyTorch}},

      {.field = FIELD(batch.micro_batch, integers(1, kMaxSequences)),
       .meaning = "Sequences per rank and micro-step.",
       .unit = "sequences",
       .view = {.label = "Micro-batch",
                .steps = {{1}, {2}, {3}, {4}, {6}, {8}, {16}},
                .slides = true},
       .searched = {1, 2, 4, 8}},
      {.field = FIELD(batch.sequence, integers(1, kMaxTokens)),
       .meaning = "Tokens per sequence.",
       .unit = "tokens",
       .view = {.steps = {{512},
                          {1024, "1k"},
                          {2048, "2k"},
                          {4096, "4k"},
                          {8192, "8k"},
                          {16384, "16k"},
                          {32768, "32k"}},
                .slides = true}},
      {.field = FIELD(batch.accumulation, integers(1, kMaxAccumulation)),
       .meaning = "Micro-steps per optimizer step.",
       .unit = "micro-steps",
       .view = {.steps = {{1}, {2}, {4}, {8}, {16}}}},
      {.field = FIELD(batch.gradient_sync),
       .meaning = "Micro-steps in which gradients are reduced; \"last\" keeps them unsharded until "
                  "the last one (set_requires_gradient_sync).",
       .needs = {kAccumulation},
       .remedies = {"every"}},
      {.field = FIELD(batch.all_reduce),
       .meaning = "Micro-steps in which hybrid sharding all-reduces gradients "
                  "(set_requires_all_reduce).",
       .needs = {kFsdp2, kAccumulation, kReducesEach, kReplicas}},

      {.field = FIELD(wrap.policy),
       .meaning = "Modules that become units: none but the root, those of layer_class, by size, or "
                  "those that `modules` lists.",
       .needs = {kWraps},
       .view = {.label = "Wrap policy",
                .steps = {{"none"}, {"transformer", "blocks"}, {"size"}, {"modules", "custom"}}},
       .remedies = {"transformer"}},
      {.field = FIELD(wrap.layer_class),
       .meaning = "Classes of modules that policy \"transformer\" wraps.",
       .needs = {kSharding, kWrapsClasses},
       .view = {.label = "Layer classes"}},
      {.field = FIELD(wrap.min_num_params, integers(0, 1'000'000'000'000'000)),
       .meaning = "Parameters from which policy \"size\" wraps a module.",
       .unit = "parameters",
       .needs = {kSharding, kWrapsBySize},
       .view = {.label = "Smallest unit"}},
      {.field = FIELD(wrap.modules),
       .meaning = "Globs of Hugging Face module names for policy \"modules\"; a list inside the "
                  "list makes one unit of all its matches. `*` stays inside one path component.",
       .needs = {kSharding, kWrapsModules}},

      {.field = FIELD(sharding.strategy),
       .meaning = "FSDP's sharding strategy.",
       .needs = {kSharding},
       .remedies = {"full_shard"}},
      {.field = FIELD(sharding.reshard_after_forward, integers(1, kMaxRanks)),
       .meaning = "Whether units reshard after forward: \"auto\" is PyTorch's default (all but the "
                  "root), a number reshards to groups of that many ranks.",
       .needs = {kFsdp2},
       .view = {.label = "Reshard",
                .full_label = "Reshard after forward:",
                .steps = {{"auto"}, {true, "yes"}, {false, "no"}, {2, "by 2"}, {4, "by 4"}}},
       .remedies = {true}},
      {.field = FIELD(sharding.keep_after_forward),
       .meaning = "Globs of units that stay unsharded after forward whatever "
                  "reshard_after_forward is.",
       .needs = {kFsdp2},
       .view = {.label = "Keep gathered"},
       .remedies = {PlanList()}},
      {.field = FIELD(sharding.reshard_after_backward),
       .meaning = "Micro-steps after whose backward units are resharded.",
       .needs = {kFsdp2, kAccumulation},
       .view = {.label = "After backward", .full_label = "Reshard after backward:"},
       .remedies = {"every"}},
      {.field = FIELD(sharding.shard_group, integers(0, kMaxRanks)),
       .meaning = "Ranks in each shard group of a hybrid strategy; 0 means the ranks of one node.",
       .unit = "ranks",
       .needs = {kSharding}},
      {.field = FIELD(sharding.shard_dim, integers(0, 1)),
       .meaning = "Dimension along which parameters are sharded; 1 only where it divides evenly.",
       .needs = {kFsdp2},
       .view = {.steps = {{0}, {1}}}},

      {.field = FIELD(prefetch.forward, integers(0, kMaxUnitsAhead)),
       .meaning = "Units gathered ahead in forward (set_modules_to_forward_prefetch); 0 is "
                  "PyTorch's implicit rule.",
       .unit = "units",
       .needs = {kFsdp2},
       .view = {.full_label = "Prefetch forward", .steps = {{0, "implicit"}, {1}, {2}, {3}, {4}}},
       .remedies = {0}},
      {.field = FIELD(prefetch.backward, integers(0, kMaxUnitsAhead), "none"),
       .meaning = "Units gathered ahead in backward (set_modules_to_backward_prefetch); 0 is "
                  "PyTorch's implicit rule of one unit, \"none\" turns it off.",
       .unit = "units",
       .needs = {kFsdp2},
       .view = {.full_label = "Prefetch backward",
                .steps = {{"none", "off"}, {0, "implicit"}, {1}, {2}, {3}}},
       .remedies = {0}},
      {.field = FIELD(prefetch.unshard_before_forward),
       .meaning = "Gather the root before the first module runs.",
       .needs = {kFsdp2},
       .view = {.label = "Unshard early"}},
      {.field = FIELD(prefetch.forward_prefetch),
       .meaning = "FSDP1's forward_prefetch.",
       .needs = {kFsdp1},
       .view = {.label = "FSDP1 forward"}},
      {.field = FIELD(prefetch.backward_prefetch),
       .meaning = "FSDP1's backward_prefetch.",
       .needs = {kFsdp1},
       .view = {.label = "FSDP1 backward"}},
      {.field = FIELD(prefetch.limit_all_gathers),
       .meaning = "FSDP1's limit_all_gathers.",
       .needs = {kFsdp1},
       .view = {.label = "Limit gathers"},
       .remedies = {true}},

      {.field = FIELD(precision.storage),
       .meaning = "Dtype of the sharded parameters.",
       .view = {.full_label = "Parameters in"}},
      {.field = FIELD(precision.param),
       .meaning = "Dtype of gathered parameters and of compute (param_dtype).",
       .view = {.label = "Compute", .full_label = "Compute in"},
       .remedies = {"bf16"}},
      {.field = FIELD(precision.reduce, {}, "gradient"),
       .meaning = "Dtype in which gradients are reduced (reduce_dtype); \"gradient\" keeps that of "
                  "the gradients.",
       .needs = {kReduceType},
       .view = {.full_label = "Reduce gradients in"},
       .remedies = {"bf16"}},
      {.field = FIELD(precision.optimizer_state),
       .meaning = "Dtype of the optimizer's states.",
       .needs = {kStates},
       .view = {.label = "Optimizer", .full_label = "Optimizer states in"}},

      {.field = FIELD(offload.parameters),
       .meaning = "Keep parameters, gradients and optimizer states on the host "
                  "(CPUOffloadPolicy).",
       .view = {.full_label = "Offload parameters"},
       .remedies = {true}},
      {.field = FIELD(offload.pin_memory),
       .meaning = "Pin the host memory of offloaded parameters.",
       .needs = {kPinsByChoice, kOffloadedParameters}},
      {.field = FIELD(offload.optimizer),
       .meaning = "Keep only optimizer states on the host, and step there.",
       .needs = {kStatesAlone},
       .view = {.full_label = "Offload optimizer"},
       .remedies = {true}},
      {.field = FIELD(offload.activations),
       .meaning = "Move saved activations to the host between forward and backward.",
       .view = {.full_label = "Offload activations"},
       .remedies = {true}},

      {.field = FIELD(checkpointing.mode),
       .meaning = "Activation checkpointing: off, every block, each n-th block, selected "
                  "operators' outputs kept, or transformers' gradient_checkpointing_enable.",
       .view = {.full_label = "Checkpointing"},
       .remedies = {"full", "selective", "every"},
       .searched = {"none", "selective", "full"}},
      {.field = FIELD(checkpointing.every, integers(1, 10'000)),
       .meaning = "The n of mode \"every\": blocks n, 2n, ... are checkpointed.",
       .unit = "blocks",
       .needs = {kEveryNth},
       .view = {.label = "Every nth",
                .full_label = "Checkpoint every",
                .steps = {{1}, {2}, {3}, {4}, {8}}}},
      {.field = field_of("checkpointing.save",
                         [](auto& plan) {
                           auto& checkpointing = plan.checkpointing;
                           return plan_field::Choices{checkpointing.save_attention,
                                                      checkpointing.save_matmul,
                                                      checkpointing.save_every_second_matmul};
                         }),
       .meaning = "Operators whose outputs mode \"selective\" keeps.",
       .needs = {kSelective},
       .view = {.label = "Keep"}},
      {.field = FIELD(checkpointing.fraction, numbers({0, 1})),
       .meaning = "Share of the blocks that the mode takes, spread evenly; the others keep their "
                  "activations.",
       .needs = {kCheckpoints},
       .view = {.full_label = "Checkpointed share",
                .steps = {{0.0, "0"}, {0.25, "¼"}, {0.5, "½"}, {0.75, "¾"}, {1.0, "all"}}},
       .remedies = {1.0},
       .searched = {1.0, 0.5}},
      {.field = FIELD(checkpointing.use_reentrant),
       .meaning = "Reentrant checkpointing, with mode \"transformers\".",
       .needs = {kEager, kOfTransformers}},

      {.field = FIELD(optimizer.name),
       .meaning = "Optimizer.",
       .view = {.full_label = "Optimizer"}},
      {.field = FIELD(optimizer.kernel),
       .meaning = "Implementation of the step. Operators \"foreshard\" have \"fused\" only; with "
                  "PyTorch's operators the default is \"foreach\".",
       .view = {.full_label = "Optimizer kernel"},
       .remedies = {"fused", "loop"}},
      {.field = FIELD(optimizer.lr, numbers({0, 1e6})),
       .meaning = "Learning rate.",
       .is_learning_only = always,
       .view = {.label = "Learning rate"}},
      {.field = field_of(
           "optimizer.betas",
           [](auto& plan) {
             return plan_field::Pair{plan.optimizer.beta1, plan.optimizer.beta2};
           },
           numbers({0, 1, true})),
       .meaning = "AdamW's betas.",
       .needs = {kAdamw},
       .is_learning_only = always},
      {.field = FIELD(optimizer.eps, numbers({0, 1})),
       .meaning = "AdamW's epsilon.",
       .needs = {kAdamw},
       .is_learning_only = always},
      {.field = FIELD(optimizer.weight_decay, numbers({0, 1e6})),
       .meaning = "Weight decay. PyTorch's SGD takes memory for it, kernel \"fused\" excepted.",
       .is_learning_only = decays_in_place},
      {.field = FIELD(optimizer.momentum, numbers({0, 1, true})),
       .meaning = "SGD's momentum.",
       .needs = {kSgd}},
      {.field = FIELD(optimizer.clip_grad_norm, numbers({0, 1e30})),
       .meaning = "Norm to which gradients are clipped; 0 turns clipping off.",
       .is_learning_only = has_norm_anyway},
      {.field = FIELD(optimizer.schedule),
       .meaning = "Learning-rate schedule after the warm-up.",
       .is_learning_only = always},
      {.field = FIELD(optimizer.warmup_steps, integers(0, kMaxSteps)),
       .meaning = "Steps of linear warm-up.",
       .unit = "steps",
       .is_learning_only = always},
      {.field = FIELD(optimizer.warmup_start_factor, numbers({0, 1})),
       .meaning = "Factor of the learning rate at which the warm-up starts.",
       .needs = {kWarmsUp},
       .is_learning_only = always},
      {.field = FIELD(optimizer.decay_steps, integers(0, kMaxSteps)),
       .meaning = "Steps of the linear or cosine decay; 0 means all steps after the warm-up.",
       .unit = "steps",
       .needs = {kDecays},
       .is_learning_only = always},
      {.field = FIELD(optimizer.min_lr, numbers({0, 1e6})),
       .meaning = "Learning rate at the end of the decay and after it; lr at most.",
       .needs = {kDecays},
       .is_learning_only = always},

      {.field = FIELD(allocator.expandable_segments),
       .meaning = "Segments that grow by mapping memory.",
       .needs = {kCachingAllocator},
       .remedies = {true},
       .searched = {false, true}},
      {.field = FIELD(allocator.max_split_size_mb, integers(0, kMaxMebibytes)),
       .meaning = "MiB above which blocks are not split; 0 means no limit.",
       .unit = "MiB",
       .needs = {kCachingAllocator},
       .view = {.label = "Split up to, MiB"}},
      {.field = FIELD(allocator.roundup_power2_divisions, integers(0, 1 << 10)),
       .meaning = "Divisions between powers of two to which sizes are rounded up; 0 turns it off.",
       .needs = {kCachingAllocator},
       .view = {.label = "Round up, parts"}},
      {.field = FIELD(allocator.garbage_collection_threshold, numbers({0, 1, true})),
       .meaning = "Share of the memory that memory_fraction allows above which unused blocks are "
                  "released; 0 turns it off. PyTorch ignores it where memory_fraction is 1.",
       .needs = {kCachingAllocator, kLimitedMemory},
       .view = {.label = "Collect from"}},
      {.field = FIELD(allocator.memory_fraction, numbers({0, 1, false, /*least_excluded=*/true})),
       .meaning = "Share of the device memory that the allocator may use "
                  "(set_per_process_memory_fraction).",
       .needs = {kCachingAllocator},
       .view = {.label = "Memory share"}},

      {.field = FIELD(lora.rank, integers(0, 1 << 16)),
       .meaning = "Rank of the adapters; 0 turns them off.",
       .needs = {kPyTorch},
       .view = {.full_label = "LoRA rank"}},
      {.field = FIELD(lora.targets),
       .meaning = "Linear layers that take an adapter, by the last component of their names, such "
                  "as \"q_proj\".",
       .needs = {kPyTorch, kAdapters},
       .view = {.full_label = "LoRA targets"}},
      {.field = FIELD(lora.dtype),
       .meaning = "Dtype of the adapters: that of precision.storage, or fp32 as PEFT makes them "
                  "over 16-bit models.",
       .needs = {kPyTorch, kAdapters},
       .view = {.full_label = "LoRA in"}},

      {.field = FIELD(evaluation.every, integers(0, kMaxSteps)),
       .meaning = "Steps between two evaluations, whose peak counts in the step before; 0 means "
                  "never.",
       .unit = "steps",
       .needs = {kPyTorch},
       .view = {.label = "Every nth step", .full_label = "Evaluate every"}},
      {.field = FIELD(evaluation.batches, integers(1, kMaxSteps)),
       .meaning = "Batches of the training's size in one evaluation.",
       .unit = "batches",
       .needs = {kPyTorch, kEvaluates},
       .view = {.full_label = "Evaluated batches"}},

      {.field = FIELD(pytorch.version),
       .meaning = "PyTorch's version, also as torch.__version__ has it; one that is not described "
                  "is taken as the nearest that is, with a warning.",
       .needs = {kPyTorch},
       .view = {.label = "PyTorch"}},
      {.field = FIELD(pytorch.implementation, {.may_be_unwritten = true}),
       .meaning = "Whose Llama modules run: a plain one in torchtitan's style, torchtitan's own of "
                  "a month, or transformers'."},
      {.field = FIELD(pytorch.loop),
       .meaning = "The training step: a plain one, or that of the Hugging Face Trainer on "
                  "Accelerate.",
       .needs = {kPyTorch}},
      {.field = FIELD(pytorch.setup),
       .meaning = "Where the model is built: on the meta device, on the host, or on the device. "
                  "\"auto\" is what is usual: meta for \"fsdp2\", host for \"fsdp1\", device for "
                  "\"ddp\".",
       .needs = {kPyTorch}},
      {.field = FIELD(pytorch.autocast),
       .meaning = "torch.autocast around forward and loss; with loop \"trainer\" inside the "
                  "model's forward.",
       .needs = {kPyTorch}},
      {.field = FIELD(pytorch.attention_mask),
       .meaning = "transformers' attention_mask: not given, all ones, or with padding.",
       .needs = {kPyTorch, kTransformersModules}},
      {.field = FIELD(pytorch.attention),
       .meaning = "Backend of scaled_dot_product_attention; \"auto\" is PyTorch's own choice.",
       .needs = {kPyTorch},
       .remedies = {"flash"}},
      {.field = FIELD(pytorch.repeat_kv),
       .meaning = "Expand keys and values of grouped queries before attention.",
       .needs = {kPyTorch},
       .remedies = {false}},
      {.field = FIELD(pytorch.rope),
       .meaning = "Arithmetic of rotary embeddings.",
       .needs = {kPyTorch}},
      {.field = FIELD(pytorch.logits),
       .meaning = "Dtype in which the loss takes the logits.",
       .needs = {kPyTorch, kHalfLogits},
       .view = {.full_label = "Logits in"},
       .remedies = {"bf16"}},
      {.field = FIELD(pytorch.keep_logits),
       .meaning = "Whether a reference to the logits lives until the end of backward.",
       .needs = {kPyTorch}},
      {.field = FIELD(pytorch.loss),
       .meaning = "Cross-entropy of all tokens at once, of chunks of tokens, or compiled by "
                  "torch.compile.",
       .needs = {kPyTorch}},
      {.field = FIELD(pytorch.rms_norm),
       .meaning = "RMSNorm as several operators or as one; \"auto\" is what the version does.",
       .needs = {kPyTorch}},
      {.field = FIELD(pytorch.float8),
       .meaning = "Scaling of float8 matrix products in the blocks; \"none\" leaves them in the "
                  "dtype of precision.param.",
       .needs = {kPyTorch}},
      {.field = FIELD(pytorch.compile),
       .meaning = "What torch.compile takes with operators \"pytorch-compile\": each block, blocks "
                  "and the loss, or the whole model.",
       .needs = {kCompile}},
      {.field = FIELD(pytorch.deterministic),
       .meaning = "Deterministic kernels (torch.use_deterministic_algorithms).",
       .needs = {kNoXla}},
      {.field = FIELD(pytorch.read_loss_every, integers(1, kMaxSteps)),
       .meaning = "Steps between two reads of the loss by the host, which wait for the device.",
       .unit = "steps",
       .needs = {kPyTorch}},
      {.field = FIELD(pytorch.zero_grad),
       .meaning = "What zero_grad leaves: no gradients, or zeros.",
       .needs = {kPyTorch},
       .remedies = {"none"}},
      {.field = FIELD(pytorch.checkpoint_early_stop),
       .meaning = "Stop recomputation as soon as all that backward needs is there.",
       .needs = {kEager, kCheckpoints, kStopsByChoice},
       .view = {.label = "Early stop"}},
      {.field = FIELD(pytorch.async_unshard),
       .meaning = "Gather units without blocking (unshard(async_op=True)).",
       .needs = {kFsdp2}},
      {.field = FIELD(pytorch.keep_sharded_in_backward),
       .meaning = "Globs of units that are not gathered in backward "
                  "(set_unshard_in_backward(False)).",
       .needs = {kFsdp2},
       .view = {.label = "Stay sharded"}},
      {.field = FIELD(pytorch.cublas_workspace_config),
       .meaning = "CUBLAS_WORKSPACE_CONFIG of the run.",
       .needs = {kPyTorch},
       .view = {.label = "cuBLAS config"}},
      {.field = FIELD(pytorch.use_orig_params),
       .meaning = "FSDP1's use_orig_params.",
       .needs = {kFsdp1}},
      {.field = FIELD(pytorch.gpu_timing),
       .meaning = "FSDP1: how late the device is when the host frees memory of other streams, the "
                  "bounds of what record_stream does.",
       .needs = {kFsdp1}},
      {.field = field_of(
           "pytorch.bucket_cap_mb",
           [](auto& plan) -> auto& { return plan.pytorch.bucket_cap_mb.mebibytes; },
           integers(1, kMaxMebibytes), "auto"),
       .meaning = "DDP's bucket_cap_mb; \"auto\" is its default, 25 MiB with a first bucket of 1 "
                  "MiB.",
       .unit = "MiB",
       .needs = {kDdp}},
      {.field = FIELD(pytorch.find_unused_parameters),
       .meaning = "DDP's find_unused_parameters.",
       .needs = {kDdp},
       .view = {.label = "Find unused"}},
      {.field = FIELD(pytorch.init_sync),
       .meaning = "DDP's first broadcast of parameters and buffers.",
       .needs = {kDdp}},
      {.field = FIELD(pytorch.gradient_as_bucket_view),
       .meaning = "DDP's gradient_as_bucket_view.",
       .needs = {kDdp},
       .view = {.label = "Bucket views"},
       .remedies = {true}},
      {.field = FIELD(pytorch.static_graph), .meaning = "DDP's static_graph.", .needs = {kDdp}},
  };
}
#undef FIELD

}  // namespace

std::string_view PlanKey::section() const {
  const std::size_t dot = name().find('.');
  return dot == std::string_view::npos ? std::string_view() : name().substr(0, dot);
}

std::string_view PlanKey::short_name() const {
  return name().substr(section().empty() ? 0 : section().size() + 1);
}

std::string PlanKey::allowed() const {
  return field.allowed.text_of_all() + (unit.empty() ? "" : " (" + std::string(unit) + ")");
}

PlanValue PlanKey::value_in(const Plan& plan) const {
  PlanValue value = field.value_of(plan);
  const bool has_word = std::holds_alternative<std::monostate>(value) && !field.nothing.empty();
  return has_word ? PlanValue(std::string(field.nothing)) : value;
}

bool PlanKey::set_in(Plan& plan, const PlanValue& value) const {
  const auto* text = std::get_if<std::string>(&value);
  const bool is_nothing = text != nullptr && !field.nothing.empty() && *text == field.nothing;
  return field.take(plan, is_nothing ? PlanValue() : value, field.allowed);
}

std::string PlanKey::missing_in(const Plan& plan) const {
  std::string text;
  for (const PlanNeed& need : needs) {
    if (!need.is_met(plan)) text.append(text.empty() ? "" : " and ").append(need.text);
  }
  return text;
}

const std::vector<PlanKey>& plan_keys() {
  static const std::vector<PlanKey> keys = make_keys();
  return keys;
}

const PlanKey* find_plan_key(std::string_view name) {
  const auto found = std::find_if(plan_keys().begin(), plan_keys().end(),
                                  [name](const PlanKey& key) { return key.name() == name; });
  return found == plan_keys().end() ? nullptr : &*found;
}

const std::vector<PlanSection>& plan_sections() {
  static const std::vector<PlanSection> sections = {
      {"", "Which operators run, under which runtime."},
      {"batch", "What one optimizer step trains on."},
      {"wrap", "Which modules are FSDP units."},
      {"sharding", "How parameters are divided among ranks, and when they are resharded."},
      {"prefetch", "How far ahead of their use units are gathered."},
      {"precision", "The dtypes of parameters, gradients and optimizer states."},
      {"offload", "What is kept in host memory."},
      {"checkpointing", "Which activations are recomputed in backward."},
      {"optimizer", "The optimizer and its learning-rate schedule."},
      {"allocator",
       "Settings of PyTorch's caching allocator, by their names in PYTORCH_CUDA_ALLOC_CONF."},
      {"lora", "Low-rank adapters; with them nothing else trains."},
      {"evaluation", "Forward passes without gradients between steps."},
      {"pytorch",
       "What PyTorch runs. With operators \"foreshard\" only deterministic, async_unshard, "
       "keep_sharded_in_backward and, where it is written, implementation have an effect."},
  };
  return sections;
}

std::vector<SpeltKey> spelt_keys(const Plan& plan) {
  std::vector<SpeltKey> keys;
  keys.reserve(plan_keys().size());
  for (const PlanKey& key : plan_keys()) {
    keys.push_back({std::string(key.name()), spelt(key.value_in(plan))});
  }
  return keys;
}

std::vector<SpeltKey> changed_keys(const Plan& plan) {
  static const std::vector<SpeltKey> defaults = spelt_keys(Plan{});
  std::vector<SpeltKey> keys = spelt_keys(plan);
  std::erase_if(keys, [unchanged = defaults.begin()](const SpeltKey& key) mutable {
    return key.value == (unchanged++)->value;
  });
  return keys;
}

std::vector<std::string> settings_without_effect(const Plan& plan) {
  std::vector<std::string> found;
  for (const SpeltKey& key : changed_keys(plan)) {
    const std::string missing = find_plan_key(key.name)->missing_in(plan);
    if (missing.empty()) continue;
    constexpr std::size_t kShown = 60;
    const std::string value =
        key.value.size() <= kShown ? key.value : key.value.substr(0, kShown) + "...";
    found.push_back(key.name + " = " + value + " has no effect here; it needs " + missing);
  }
  return found;
}

std::string to_toml(const Plan& plan) {
  std::string text;
  std::string_view section;
  for (const PlanKey& key : plan_keys()) {
    if (key.section() != section) {
      section = key.section();
      text.append("\n[").append(section).append("]\n");
    }
    const std::string value = spelt(key.value_in(plan));
    if (!value.empty()) text.append(key.short_name()).append(" = ").append(value).append("\n");
  }
  return text;
}

}  // namespace foreshard
