// The final norm, the output projection and the loss where they run in eight chunks of the sequence, as
// torchtune's CEWithChunkedOutputLoss and the model's set_num_output_chunks do: the model projects chunk
// by chunk, and the loss takes one chunk's logits to fp32 at a time. Log-probabilities of all chunks are
// kept for backward all the same; what is saved is the rest.
#pragma once

#include "models/lowering/script/script.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

// The final norm alone.
Segment eager_chunked_head(const Job& job);
// The projection, inside the model's forward, and the loss.
Segment eager_chunked_loss(const Job& job);

}  // namespace foreshard::lowering
