// RMSNorm as PyTorch runs it: nn.RMSNorm is one operator from 2.9 on and single ones before,
// transformers' LlamaRMSNorm is single operators always.
#pragma once

#include "models/lowering/operators/pytorch/eager_writer.hpp"

namespace foreshard::lowering {

// What forward keeps of a norm. The fused one keeps its input beside, and so do single operators in
// fp32; in 16 bits those keep an fp32 copy instead.
struct EagerNorm {
  std::int32_t module = kNone;
  std::int64_t rows = 0, width = 0;
  Slot output = kNone;
  Slot rstd = kNone;
  Slot wide = kNone;        // the input in fp32, of a 16-bit model
  Slot normalized = kNone;  // before the weight
};

// Whether the norms are single operators.
bool norm_is_composite(const EagerWriter& w);

EagerNorm declare_norm(EagerWriter& w, std::string_view module, std::int64_t rows,
                       std::int64_t width);
// Returns the output: norm.output, or a temporary where autograd records nothing.
Slot norm_forward(EagerWriter& w, const EagerNorm& norm, Slot x);

// Where the norm's backward stands.
struct NormBackward {
  Slot dy = kNone;          // freed
  Slot x = kNone;           // the norm's input, where it lives: freed
  Slot residual = kNone;    // to which the result is added; kNone: the result becomes the gradient
  Slot held = kNone;        // what is added to instead, into `residual`, where others hold it
  bool recomputed = false;  // saved tensors die before the incoming gradient
  // Of the first norm of a checkpointed block, composite: what checkpoint() held, in the order in which
  // it dies. x is among it.
  std::vector<Slot> arguments{};
  bool is_first_of_checkpoint = false;
};
// Returns the gradient where there is no residual to add it to.
Slot norm_backward(EagerWriter& w, const EagerNorm& norm, const NormBackward& at);

}  // namespace foreshard::lowering
