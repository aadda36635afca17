// Rotary embedding of queries or keys as PyTorch runs it: torchtitan's product of complex numbers in
// fp32, or transformers' with the halves turned (rotate_half).
#pragma once

#include "models/lowering/operators/pytorch/eager_writer.hpp"

namespace foreshard::lowering {

bool rope_is_complex(const EagerWriter& w);

// A new tensor, `out`, which forward keeps; `q` stays. Of transformers, the tables are shared.
void rope_forward(EagerWriter& w, Slot q, Slot out);

struct RopeBackward {
  Slot dq = kNone;  // freed
  std::int64_t heads = 0;
  bool heads_are_outer = false;  // [B, heads, S, d]: a gradient of attention's math path
  bool recomputed = false;
  // Tables of angles that die with this tensor: sines after the first product, then the cosines.
  Slot sines = kNone, cosines = kNone;
};
Slot rope_backward(EagerWriter& w, const RopeBackward& at);

}  // namespace foreshard::lowering
