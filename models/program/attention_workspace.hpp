// What attention takes of memory beside its operands, on the CPU and on GPUs.
//
// In bf16 on GPUs attention is cuDNN's. Its sizes are formulas of what cuDNN 9.19 answers for each architecture
// (tests/models/program/cudnn_workspaces.csv), and those of its other versions as far as they are known: where one
// asks for more than a program has, the plain kernel runs. Non-deterministic as in PyTorch, backward adds up
// the gradients of queries in an order that differs from run to run. The deterministic way takes a matrix of
// all scores where the GPU is not Blackwell's, so a batch is computed in parts.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/base/device_traits.hpp"
#include "models/base/units.hpp"
#include "models/program/operators.hpp"
#include "models/sharding/job.hpp"

namespace foreshard {

// Whether cuDNN computes an attention there: in bf16, of heads that its kernels are made for, of more than one
// token, and without a window, for which the sizes of cuDNN's workspaces are not known.
bool is_fused_attention(const CostKey& key, const DeviceTraits& device);

// Sequences and key heads, with all queries of theirs.
struct AttentionPart {
  std::int64_t batch = 0, kv_heads = 0;

  bool operator==(const AttentionPart&) const = default;
};

// What one launch of cuDNN's backward computes: everything, or, where it is deterministic, the most that asks
// for no more than all of it would without determinism: at least one key head of one sequence.
AttentionPart cudnn_backward_part(const CostKey& attention, const DeviceTraits& device);

// What cuDNN asks for when it computes such an attention as a whole.
Bytes cudnn_workspace(const CostKey& key, int compute_capability, bool is_deterministic);

// What computes the attention of Foreshard's own operators on a GPU, for people: "cuDNN", "cuDNN,
// deterministic" or "plain", and where layers with a window have the plain one, "; plain within sliding
// windows" behind it; empty for the CPU, and for other operators.
std::string_view attention_kernel(const Job& job);

// The scratch operand of attention_backward.
Bytes attention_backward_scratch(const CostKey& key, const DeviceTraits& device);

}  // namespace foreshard
