// What a Llama consists of, as lists of operators: the *operator set*.
//
// A segment (the decoder block, the head) is a list of nodes forward and one backward. A node names
// its operator, the module it belongs to, and its operands by role: an activation slot, a weight, a
// gradient. From these lists the lowering derives what must be kept for backward, what a
// checkpointed block must compute again, and where each tensor dies. Another operator set is another
// function that returns these lists; nothing else changes.
#pragma once

#include <vector>

#include "models/lowering/emitter.hpp"

namespace foreshard::lowering {

// A tensor of a segment. `external` slots are the residual stream and its gradient, which are handed
// from segment to segment; all others live inside one.
using Slot = std::int16_t;

struct SlotSpec {
  std::int64_t bytes;
  Category category = Category::activations;
  bool external = false;
  Role role = Role::activation;
};

struct Operand {
  enum class Kind : std::uint8_t {
    slot,
    weight,
    bias,
    weight_gradient,
    bias_gradient,
    workspace,
    scratch,
    rope_table,
    tokens,
    targets,
    loss
  };
  Kind kind = Kind::slot;
  Slot slot = 0;

  static Operand of(Slot s) { return {Kind::slot, s}; }
};

struct Node {
  CostKey key;
  std::int16_t module = 0;  // index into the segment's modules
  std::vector<Operand> reads, writes;
  CostKeyId key_id = kNone;  // filled when the segment is bound to an emitter
};

struct Segment {
  // Modules that nodes belong to, as paths relative to the segment's own ("self_attn.q_proj").
  std::vector<std::string_view> modules;
  std::vector<SlotSpec> slots;
  std::vector<Node> forward, backward;
};

// What a checkpointed block keeps, and the forward nodes it runs again.
struct Recomputation {
  std::vector<bool> keeps;   // by slot
  std::vector<bool> reruns;  // by forward node
};

// Slots that backward reads.
std::vector<bool> needed_by_backward(const Segment& segment);

// Keeps exactly the slots of `kept` (and external ones); reruns what backward needs besides. A node
// that runs again must not write what is kept: operators that work in place have one tensor each.
Recomputation recompute_all_but(const Segment& segment, const std::vector<Slot>& kept);

struct OperatorSet {
  Segment embedding, block, head, loss;
  // Checkpointing: what a block keeps under each selective rule.
  std::vector<Slot> attention_outputs, matmul_outputs, second_matmul_outputs;
  // Slots that segments hand to each other (slot 0 of each is the residual stream it is given).
  std::size_t block_output = 0, block_gradient = 0, embedding_gradient = 0, head_gradient = 0,
              logits = 0;
};

// Foreshard's own fused operators: RMSNorm, RoPE in place, attention without a materialised score
// matrix, SwiGLU, whole cross-entropy whose gradient overwrites the logits.
OperatorSet foreshard_operators(const LlamaConfig& model, const Plan& plan);

}  // namespace foreshard::lowering
