// What differs between versions of PyTorch, as far as memory shows it. Lowering asks for these facts
// by name and never for a version.
#pragma once

#include <cstdint>

#include "models/plan/plan.hpp"

namespace foreshard::lowering {

struct PyTorchRules {
  // Operators.
  bool norm_is_fused = true;             // nn.RMSNorm is one operator
  bool norm_weight_after_cast = false;   // a composite norm multiplies by the weight in 16 bits
  bool flash_keeps_random_state = true;  // on the device, for backward
  bool flash_rounds_large_heads = true;  // those of more than 128 up to a multiple of 64, not 32
  bool efficient_keeps_random_state = false;  // memory-efficient attention too
  bool slices_are_nodes = false;              // autograd copies gradients of full-range slices
  bool rotary_uses_cublas = true;             // transformers' table of angles is a matrix product
  bool workspace_per_product = false;         // each matrix product takes and returns its own
  bool checkpoint_input_dies_last = false;    // of the arguments of a checkpointed block
  std::int64_t scan_base = 511;               // CUB's temporaries, in bytes
  std::int64_t sort_base = 16895;
  std::int64_t unique_bytes = 1279;
  // FSDP2.
  bool root_reshards_as_told = true;         // after forward, where the plan demands it
  bool single_rank_copies = true;            // a shard group of one gathers nothing
  bool loop_keeps_last_gradient = true;      // of a group, until its reduction is issued
  bool loop_runs_alone = false;              // in groups of one as well
  bool recompute_reshards = false;           // a group inside a checkpointed block
  bool pads_at_first_forward = false;        // uneven shards, once more
  bool keeps_reduced_input = false;          // until post_backward returns
  bool releases_gather_before_wait = false;  // the one before, in forward
  bool autograd_casts_unreduced = false;     // gradients that are not reduced at once
  bool reduces_in_parameter_type = false;    // where reduce_dtype is None
  bool column_originals_die_early = false;   // gradients cut into columns
  // Training.
  bool norm_summed_before_total = true;  // clipping: the sum over ranks
  bool norm_scratch_is_packed = false;   // of _foreach_norm
  bool starts_with_temporaries = true;   // two scalars when CUDA starts
};

// Of plan.pytorch.version.
PyTorchRules pytorch_rules(const PyTorchPlan& plan);

}  // namespace foreshard::lowering
