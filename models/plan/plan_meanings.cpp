// The table of what each key of a plan means.
#include "models/plan/plan_reference.hpp"

namespace foreshard {
namespace {

struct Meaning {
  std::string_view name, text;
};

constexpr Meaning kSections[] = {
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
    {"pytorch",
     "What PyTorch runs. With operators \"foreshard\" only deterministic, async_unshard, "
     "keep_sharded_in_backward and, where it is written, implementation have an effect."},
};

constexpr Meaning kMeanings[] = {
    {"operators",
     "Set of operators: Foreshard's own, those that PyTorch runs, or XLA's (TPUs, whatever this "
     "says)."},
    {"runtime", "Data-parallel runtime, as in PyTorch."},

    {"batch.micro_batch", "Sequences per rank and micro-step."},
    {"batch.sequence", "Tokens per sequence."},
    {"batch.accumulation", "Micro-steps per optimizer step."},
    {"batch.gradient_sync",
     "Micro-steps in which gradients are reduced; \"last\" keeps them unsharded until the last one "
     "(set_requires_gradient_sync)."},
    {"batch.all_reduce",
     "Micro-steps in which hybrid sharding all-reduces gradients (set_requires_all_reduce)."},

    {"wrap.policy",
     "Modules that become units: none but the root, those of layer_class, by size, or those that "
     "`modules` lists."},
    {"wrap.layer_class", "Classes of modules that policy \"transformer\" wraps."},
    {"wrap.min_num_params", "Parameters from which policy \"size\" wraps a module."},
    {"wrap.modules",
     "Globs of Hugging Face module names for policy \"modules\"; a list inside the list makes one "
     "unit of all its matches. `*` stays inside one path component."},

    {"sharding.strategy", "FSDP's sharding strategy."},
    {"sharding.reshard_after_forward",
     "Whether units reshard after forward: \"auto\" is PyTorch's default (all but the root), a "
     "number reshards to groups of that many ranks."},
    {"sharding.keep_after_forward",
     "Globs of units that stay unsharded after forward whatever reshard_after_forward is."},
    {"sharding.reshard_after_backward", "Micro-steps after whose backward units are resharded."},
    {"sharding.shard_group",
     "Ranks in each shard group of a hybrid strategy; 0 means the ranks of one node."},
    {"sharding.shard_dim",
     "Dimension along which parameters are sharded; 1 only where it divides evenly."},

    {"prefetch.forward",
     "Units gathered ahead in forward (set_modules_to_forward_prefetch); 0 is PyTorch's implicit "
     "rule."},
    {"prefetch.backward",
     "Units gathered ahead in backward (set_modules_to_backward_prefetch); 0 is PyTorch's implicit "
     "rule of one unit, \"none\" turns it off."},
    {"prefetch.unshard_before_forward", "Gather the root before the first module runs."},
    {"prefetch.forward_prefetch", "FSDP1's forward_prefetch."},
    {"prefetch.backward_prefetch", "FSDP1's backward_prefetch."},
    {"prefetch.limit_all_gathers", "FSDP1's limit_all_gathers."},

    {"precision.storage", "Dtype of the sharded parameters."},
    {"precision.param", "Dtype of gathered parameters and of compute (param_dtype)."},
    {"precision.reduce",
     "Dtype in which gradients are reduced (reduce_dtype); \"gradient\" keeps that of the "
     "gradients."},
    {"precision.optimizer_state", "Dtype of the optimizer's states."},

    {"offload.parameters",
     "Keep parameters, gradients and optimizer states on the host (CPUOffloadPolicy)."},
    {"offload.pin_memory", "Pin the host memory of offloaded parameters."},
    {"offload.optimizer", "Keep only optimizer states on the host, and step there."},
    {"offload.activations", "Move saved activations to the host between forward and backward."},

    {"checkpointing.mode",
     "Activation checkpointing: off, every block, each n-th block, selected operators' outputs "
     "kept, or transformers' gradient_checkpointing_enable."},
    {"checkpointing.every", "The n of mode \"every\": blocks n, 2n, ... are checkpointed."},
    {"checkpointing.save", "Operators whose outputs mode \"selective\" keeps."},
    {"checkpointing.fraction",
     "Share of the blocks that the mode takes, spread evenly; the others keep their activations."},

    {"optimizer.name", "Optimizer."},
    {"optimizer.kernel",
     "Implementation of the step. Operators \"foreshard\" have \"fused\" only; with PyTorch's "
     "operators the default is \"foreach\"."},
    {"optimizer.lr", "Learning rate."},
    {"optimizer.betas", "AdamW's betas."},
    {"optimizer.eps", "AdamW's epsilon."},
    {"optimizer.weight_decay", "Weight decay."},
    {"optimizer.clip_grad_norm", "Norm to which gradients are clipped; 0 turns clipping off."},
    {"optimizer.schedule", "Learning-rate schedule after the warm-up."},
    {"optimizer.warmup_steps", "Steps of linear warm-up."},
    {"optimizer.warmup_start_factor", "Factor of the learning rate at which the warm-up starts."},
    {"optimizer.decay_steps",
     "Steps of the linear or cosine decay; 0 means all steps after the warm-up."},

    {"allocator.expandable_segments", "Segments that grow by mapping memory."},
    {"allocator.max_split_size_mb", "MiB above which blocks are not split; 0 means no limit."},
    {"allocator.roundup_power2_divisions",
     "Divisions between powers of two to which sizes are rounded up; 0 turns it off."},
    {"allocator.garbage_collection_threshold",
     "Share of the device memory above which unused blocks are released; 0 turns it off."},

    {"pytorch.version",
     "PyTorch's version, also as torch.__version__ has it; one that is not described is taken as "
     "the nearest that is, with a warning."},
    {"pytorch.implementation", "Whose Llama modules run."},
    {"pytorch.attention", "Backend of scaled_dot_product_attention."},
    {"pytorch.repeat_kv", "Expand keys and values of grouped queries before attention."},
    {"pytorch.rope", "Arithmetic of rotary embeddings."},
    {"pytorch.logits", "Dtype in which the loss takes the logits."},
    {"pytorch.keep_logits", "Whether a reference to the logits lives until the end of backward."},
    {"pytorch.loss",
     "Cross-entropy of all tokens at once, of chunks of tokens, or compiled by torch.compile."},
    {"pytorch.rms_norm",
     "RMSNorm as several operators or as one; \"auto\" is what the version does."},
    {"pytorch.float8",
     "Scaling of float8 matrix products in the blocks; \"none\" leaves them in the dtype of "
     "precision.param."},
    {"pytorch.compile",
     "What torch.compile takes with operators \"pytorch-compile\": each block, blocks and the "
     "loss, "
     "or the whole model."},
    {"pytorch.deterministic", "Deterministic kernels (torch.use_deterministic_algorithms)."},
    {"pytorch.read_loss_every",
     "Steps between two reads of the loss by the host, which wait for the device."},
    {"pytorch.zero_grad", "What zero_grad leaves: no gradients, or zeros."},
    {"pytorch.checkpoint_early_stop",
     "Stop recomputation as soon as all that backward needs is there."},
    {"pytorch.async_unshard", "Gather units without blocking (unshard(async_op=True))."},
    {"pytorch.keep_sharded_in_backward",
     "Globs of units that are not gathered in backward (set_unshard_in_backward(False))."},
    {"pytorch.cublas_workspace_config", "CUBLAS_WORKSPACE_CONFIG of the run."},
    {"pytorch.use_orig_params", "FSDP1's use_orig_params."},
    {"pytorch.gpu_timing",
     "FSDP1 and DDP: how late the device is when the host frees memory of other streams, the "
     "bounds of what record_stream does."},
    {"pytorch.bucket_cap_mb", "DDP's bucket_cap_mb."},
    {"pytorch.gradient_as_bucket_view", "DDP's gradient_as_bucket_view."},
    {"pytorch.static_graph", "DDP's static_graph."},
};

template <std::size_t N>
std::string_view find(const Meaning (&table)[N], std::string_view name) {
  for (const Meaning& row : table) {
    if (row.name == name) return row.text;
  }
  return {};
}

}  // namespace

std::string_view meaning_of(std::string_view key) {
  return find(kMeanings, key);
}

std::string_view section_meaning(std::string_view section) {
  return find(kSections, section);
}

std::vector<std::string_view> described_keys() {
  std::vector<std::string_view> keys;
  for (const Meaning& row : kMeanings) keys.push_back(row.name);
  return keys;
}

}  // namespace foreshard
