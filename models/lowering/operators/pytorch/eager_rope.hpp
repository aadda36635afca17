// Rotary embedding of queries and keys as PyTorch runs it (Rotary, models/sharding/implementation.hpp).
#pragma once

#include "models/lowering/operators/pytorch/eager_writer.hpp"

namespace foreshard::lowering {

struct QueryAndKey {
  Slot q = kNone, k = kNone;
};

// New tensors, `to`, which forward keeps; `from` stay. Tables that all blocks share are there.
void rope_forward(EagerWriter& w, const QueryAndKey& from, const QueryAndKey& to);

struct RopeBackward {
  QueryAndKey gradients;  // freed; kNone: of what needs none
  // That are not in rows, of which complex numbers are made: copied first.
  bool copies_q = false, copies_k = false;
  bool recomputed = false;
  // Tables of angles that die with the last of both, the queries: sines after the first product, then
  // the cosines.
  Slot sines = kNone, cosines = kNone;
};
QueryAndKey rope_backward(EagerWriter& w, const RopeBackward& at);

}  // namespace foreshard::lowering
