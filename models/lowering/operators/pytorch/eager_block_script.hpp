// A decoder block's tensors, and the scripts that use them: forward in each of its forms (eager_block.cpp)
// and backward (eager_block_backward.cpp).
#pragma once

#include "models/lowering/operators/pytorch/eager_attention.hpp"
#include "models/lowering/operators/pytorch/eager_block.hpp"
#include "models/lowering/operators/pytorch/eager_norm.hpp"
#include "models/lowering/operators/pytorch/eager_rope.hpp"
#include "models/sharding/pytorch_support.hpp"

namespace foreshard::lowering {

class EagerBlock {
 public:
  EagerBlock(const Job& job, const BlockSite& site, GradMode grad, ModuleId block);

  Segment segment();

 private:
  struct Projection : EagerWriter::Linear {
    bool is_kept = false;  // its output, under selective checkpointing
  };
  void mark_units(EagerWriter::Linear& l) const;
  Projection projection(std::string_view path, std::int64_t out, std::int64_t in, bool bias,
                        bool reads_stream);
  enum class Pass : std::uint8_t { forward, checkpointed, recomputed };

  // Its dispatch mode runs inside checkpoint(), which an evaluation does not enter.
  bool is_selective() const {
    return site_.is_checkpointed && w_.job.plan.checkpointing.mode == CheckpointMode::selective;
  }
  bool has_head_norms() const { return w_.job.model.has_query_key_norms(); }
  // expand and reshape: with one head of keys that is a view.
  bool repeats() const { return attention_.kv_heads != w_.z.K && w_.z.K > 1; }
  // By attention itself, for a mask, and not by the block that calls it.
  bool repeats_for_mask() const { return repeats() && attention_.bias != kNone; }
  // The gradients of keys and values that the block repeated are sums, in rows whatever they were.
  bool sums_repeats() const { return attention_.kv_heads != w_.z.K && !repeats_for_mask(); }
  // Tables of angles in fp32, which a 16-bit model is called with.
  bool casts_tables() const;
  Slot keys() const { return repeats() ? all_k_ : k_; }
  Slot values() const { return repeats() ? all_v_ : v_; }
  // As attention is given them, which autocast casts where the tables of angles made them wide.
  Slot cast_queries() const { return cast_q_ == kNone ? q_ : cast_q_; }
  Slot cast_keys() const { return cast_k_ == kNone ? keys() : cast_k_; }

  // What all forwards share.
  void project(Pass pass, const Projection& l, Slot x, Slot y);
  QueryAndKey project_to_heads(Pass pass);
  void rotate_and_repeat(const QueryAndKey& from);
  void attend(Pass pass);
  void drop_attention_variables();

  void forward(Pass pass);

  // Backward runs inside that of CheckpointFunction, which holds the block's input, its second output and
  // the gradient that came for the first.
  bool is_reentrant() const {
    return site_.is_checkpointed && checkpoints_reentrantly(w_.job.plan);
  }
  AttentionNeeds attention_needs() const {
    return {w_.requires_gradient(q_), w_.requires_gradient(k_), w_.requires_gradient(v_)};
  }
  bool stops_early() const;
  // What a frozen embedding gave, for whose gradient the model asks.
  bool input_is_leaf() const { return site_.is_first && site_.input_is_leaf; }

  void backward();
  void end_node(bool again, EagerWriter::Reads saved, Slot gradient);
  Slot like(std::string_view op, Slot of, EagerWriter::Reads reads);
  Slot product_gradient(Slot other);
  void add_to_stream(const EagerNorm& norm, NormBackward at);
  void mlp_backward(bool again);
  void attention_block_backward(bool again);
  Slot attention_backward_to_norm(bool again);
  Slot summed_over_repeats(Slot g, std::int64_t item);
  void rotate_back(bool again, AttentionGradients& g);
  Slot as_rows(Slot g, std::int64_t heads);
  std::vector<Slot> checkpoint_arguments();

  EagerWriter w_;
  BlockSite site_;
  Rotary rotary_;
  int products_ = 0;  // that are no addmm, in the order of forward
  std::int32_t root_, attention_module_, mlp_;
  Projection to_q_, to_k_, to_v_, to_o_, to_gate_, to_up_, to_down_;
  EagerNorm norm1_, norm2_, query_norm_, key_norm_;
  EagerAttention attention_;
  Slot x_, q0_, k0_, v_, q_, k_, all_k_ = kNone, all_v_ = kNone, cast_q_ = kNone, cast_k_ = kNone;
  Slot projected_, h_, n1_ = kNone, n2_ = kNone;  // the norms' outputs in the last forward written
  Slot gate_, silu_, up_, product_, down_, y_, residual_;
  Slot given_ = kNone;   // the gradient of what is added to the residual stream
  Slot stream_ = kNone;  // that of the stream itself; residual_, or a sum where others hold that
  Slot cosines_ = kNone, sines_ = kNone;  // cast by the block itself
  Slot tables_ = kNone;                   // cast by FSDP2 before the block
  Slot shared_cosines_ = kNone, shared_sines_ = kNone, positions_ = kNone,
       mask_ = kNone;  // of transformers
};

}  // namespace foreshard::lowering
