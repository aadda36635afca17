// Attention by single operators (_scaled_dot_product_attention_math): a causal mask, the matrix of
// scores and its softmax. What fp32 takes for grouped queries.
#pragma once

#include "models/lowering/operators/pytorch/eager_attention.hpp"

namespace foreshard::lowering {

void declare_math_attention(EagerWriter& w, EagerAttention& attention);
// The output projection's product comes next; `result` and, where nothing is kept, what stands in `out`
// are the caller's to free.
void math_attention_forward(EagerWriter& w, const EagerAttention& attention,
                            const AttentionForward& at);
AttentionGradients math_attention_backward(EagerWriter& w, const EagerAttention& attention,
                                           const AttentionBackward& at);

}  // namespace foreshard::lowering
