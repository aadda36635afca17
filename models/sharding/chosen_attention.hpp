// The kernel that scaled_dot_product_attention runs, as PyTorch chooses it. A pure function of what
// PyTorch looks at. Source: priority_order, the can_use_* checks and select_sdp_backend of
// ATen/native/transformers/cuda/sdp_utils.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "models/base/dtype.hpp"
#include "models/plan/pytorch_plan.hpp"

namespace foreshard {

enum class AttentionKernel : std::uint8_t { flash, efficient, cudnn, math };

// A call of causal attention, or of attention with a mask, that has gradients and no dropout.
struct AttentionCall {
  PyTorchVersion version{2, 11};
  int compute_capability = 90;  // 80 is sm_80; 0: no NVIDIA GPU
  DType type = DType::bf16;
  std::int64_t head_size = 128;
  bool is_grouped = false;        // fewer heads of keys and values than of queries
  bool has_mask = false;          // a tensor, which is_causal is not
  bool is_deterministic = false;  // torch.use_deterministic_algorithms
  // Where not automatic, the kernels that PyTorch is restricted to: the named one before those that take
  // what it does not, of which math takes everything.
  AttentionBackend backend = AttentionBackend::automatic;
};

struct ChosenAttention {
  AttentionKernel kernel = AttentionKernel::math;
  std::string reason;  // a clause: why this one and none that PyTorch likes better
  bool is_first_choice = false;  // the named kernel, or the one that PyTorch likes best
};

ChosenAttention chosen_attention(const AttentionCall& call);

// "flash attention", "the math path" and so on.
std::string_view attention_name(AttentionKernel kernel);

// What the flash kernel is given: SDPA pads queries, keys and values to a multiple of 8 and slices the
// result (pad_last_dim, post_process_flash_output).
std::int64_t padded_head_size(AttentionKernel kernel, std::int64_t head_size);

}  // namespace foreshard
