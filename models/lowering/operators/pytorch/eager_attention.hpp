// Scaled dot-product attention as PyTorch runs it: the flash, memory-efficient, cuDNN and math kernels,
// what each keeps for backward and its scratch.
#pragma once

#include "models/lowering/operators/pytorch/eager_writer.hpp"
#include "models/sharding/layer_attention.hpp"

namespace foreshard::lowering {

// What forward keeps besides queries, keys and values.
struct EagerAttention {
  AttentionKernel kernel = AttentionKernel::math;
  std::int64_t kv_heads = 0;       // of the keys and values that the kernel is given
  std::int64_t head_size = 0;      // likewise
  bool is_given_by_heads = false;  // keys and values, as they are where attention repeats them
  Slot out = kNone;                // in rows, as the output projection reads it
  Slot lse = kNone;
  Slot random_state = kNone, seed = kNone;
  // A mask as the numbers that are added to the scores, before and after rows are padded to 8 numbers.
  Slot unpadded_bias = kNone, bias = kNone;
  // Copies for flash attention of heads that are no multiple of 8.
  Slot padded_q = kNone, padded_k = kNone, padded_v = kNone;
  // Of the math path: values repeated, keys scaled, queries folded, probabilities.
  Slot values = kNone, keys = kNone, queries = kNone, probabilities = kNone;
  // By heads, where `out` is a copy: of the math path, and of padded heads, which are sliced.
  Slot result = kNone;

  bool copies_result() const { return result != kNone; }
  bool pads_heads() const { return padded_q != kNone; }
};
EagerAttention declare_attention(EagerWriter& w, const LayerAttention& layer);

// Which of queries, keys and values autograd asks a gradient for; of frozen projections some have none.
struct AttentionNeeds {
  bool q = true, k = true, v = true;
  bool any() const { return q || k || v; }
  bool scores() const { return q || k; }  // what the softmax is taken of
};

struct AttentionForward {
  Slot q = kNone, k = kNone, v = kNone;  // they stay
  bool keeps = true;           // what backward needs; otherwise `result` is the caller's to free
  bool is_dispatched = false;  // under selective checkpointing's dispatch mode
  // Logarithms of the rows' sums, which flash attention returns always (should_compute_logsumexp).
  bool computes_lse = true;
  AttentionNeeds needs{};
};
// Where what the kernel returned was kept, it is not run again.
enum class AttentionRun : std::uint8_t { anew, kept };
void attention_forward(EagerWriter& w, const EagerAttention& attention, const AttentionForward& at,
                       AttentionRun run = AttentionRun::anew);
// What the kernel returned by heads is copied to rows.
void attention_in_rows(EagerWriter& w, const EagerAttention& attention);

// What the kernel returns, and what autograd saves of it and its inputs.
Slot attention_output(const EagerAttention& attention);
std::vector<Slot> saved_by_attention(const EagerAttention& attention, const AttentionForward& at);

struct AttentionGradients {  // kNone: of what needs none
  Slot dq = kNone, dk = kNone, dv = kNone;
};
struct AttentionBackward {
  Slot dy = kNone;                       // freed; so are the tensors that forward kept
  Slot q = kNone, k = kNone, v = kNone;  // where `out` is a copy: freed in forward
  bool recomputed = false;               // saved tensors die before the incoming gradient
  AttentionGradients results{};          // declared by the caller, who then frees all of the above
  AttentionNeeds needs{};
};
AttentionGradients attention_backward(EagerWriter& w, const EagerAttention& attention,
                                      const AttentionBackward& at);

// convert_boolean_attn_mask: a mask, where it is a tensor of the segment, as numbers of `item` bytes that
// are added to the scores.
void numbers_of_mask(EagerWriter& w, Slot out, Slot mask, std::int64_t item);

}  // namespace foreshard::lowering
