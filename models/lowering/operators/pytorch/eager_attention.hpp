// Scaled dot-product attention as PyTorch runs it: the flash, memory-efficient, cuDNN and math kernels,
// what each keeps for backward and its scratch.
#pragma once

#include "models/lowering/operators/pytorch/eager_writer.hpp"

namespace foreshard::lowering {

enum class AttentionKernel : std::uint8_t { flash, efficient, cudnn, math };

// The kernel that PyTorch takes: flash and cuDNN refuse fp32, the memory-efficient one grouped queries
// before 2.14; the math path takes everything.
AttentionKernel attention_kernel(const EagerWriter& w);

// Heads of the keys and values that the kernel is given: repeat_kv has expanded them already, or not.
std::int64_t attention_kv_heads(const EagerWriter& w);

// What forward keeps besides queries, keys and values.
struct EagerAttention {
  AttentionKernel kernel;
  Slot out = kNone;
  Slot lse = kNone;
  Slot random_state = kNone, seed = kNone;
  // Of the math path: values repeated, keys scaled, queries folded, probabilities; `out` is its result in
  // rows, `result` the same by heads.
  Slot values = kNone, keys = kNone, queries = kNone, probabilities = kNone, result = kNone;
};
EagerAttention declare_attention(EagerWriter& w);

struct AttentionForward {
  Slot q = kNone, k = kNone, v = kNone;  // they stay
  bool keeps = true;                     // what backward needs
  bool is_dispatched = false;            // under selective checkpointing's dispatch mode
};
void attention_forward(EagerWriter& w, const EagerAttention& attention, const AttentionForward& at);

struct AttentionGradients {
  Slot dq = kNone, dk = kNone, dv = kNone;
};
struct AttentionBackward {
  Slot dy = kNone;                       // freed; so are the tensors that forward kept
  Slot q = kNone, k = kNone, v = kNone;  // of the math path: freed in forward
  bool recomputed = false;               // saved tensors die before the incoming gradient
  AttentionGradients results{};          // declared by the caller, who then frees all of the above
};
AttentionGradients attention_backward(EagerWriter& w, const EagerAttention& attention,
                                      const AttentionBackward& at);

}  // namespace foreshard::lowering
