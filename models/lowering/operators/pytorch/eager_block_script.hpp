// A decoder block's tensors, and the scripts that use them. The methods of a script stand in a file of
// their own: forward (eager_block.cpp), under checkpointing (eager_block_checkpointed.cpp), backward
// (eager_block_backward.cpp).
#pragma once

#include "models/lowering/operators/pytorch/eager_attention.hpp"
#include "models/lowering/operators/pytorch/eager_block.hpp"
#include "models/lowering/operators/pytorch/eager_norm.hpp"
#include "models/lowering/operators/pytorch/eager_rope.hpp"

namespace foreshard::lowering {

class EagerBlock {
 public:
  EagerBlock(const Job& job, const BlockSite& site);

  Segment segment();

 private:
  struct Projection : EagerWriter::Linear {
    bool is_kept = false;  // its output, under selective checkpointing
  };
  Projection projection(std::string_view path, std::int64_t out, std::int64_t in, bool bias);
  enum class Pass : std::uint8_t { forward, checkpointed, recomputed };
  struct QueryAndKey {
    Slot q, k;
  };

  bool is_selective() const { return w_.job.plan.checkpointing.mode == CheckpointMode::selective; }
  bool has_head_norms() const { return w_.job.model.has_query_key_norms(); }
  bool cast() const { return w_.z.is_16_bit; }
  bool is_math() const { return attention_.kernel == AttentionKernel::math; }
  bool composite() const { return norm_is_composite(w_); }
  // expand and reshape: with one head of keys that is a view.
  bool repeats() const { return attention_kv_heads(w_) != w_.z.K && w_.z.K > 1; }
  // Tables of angles in fp32, which a 16-bit model is called with.
  bool casts_tables() const;
  Slot keys() const { return repeats() ? all_k_ : k_; }
  Slot values() const { return repeats() ? all_v_ : v_; }

  // What all forwards share.
  void enter_block();
  void project(Pass pass, const Projection& l, Slot x, Slot y);
  QueryAndKey project_to_heads(Pass pass, Slot n1);
  void rotate_and_repeat(Pass pass, const QueryAndKey& from);
  void attend(bool keeps);

  void forward();
  void gate_and_up(Pass pass);
  void attention_output(Pass pass);

  bool keeps_attention() const;
  void checkpointed_forward();
  void free_attention_inputs();
  void recomputation();
  bool stops_early() const;

  void backward();
  void end_node(bool again, EagerWriter::Reads saved, Slot gradient);
  Slot like(std::string_view op, Slot of, EagerWriter::Reads reads);
  Slot last_backward(bool again, const Projection& l, Slot dy, Slot x);
  void mlp_backward(bool again);
  void attention_block_backward(bool again);
  Slot summed_over_repeats(Slot g);
  void rotate_back(bool again, AttentionGradients& g);
  Slot as_rows(Slot g, std::int64_t heads);
  std::vector<Slot> checkpoint_arguments();

  EagerWriter w_;
  BlockSite site_;
  int products_ = 0;  // that are no addmm, in the order of forward
  std::int32_t root_, attention_module_, mlp_;
  Projection to_q_, to_k_, to_v_, to_o_, to_gate_, to_up_, to_down_;
  EagerNorm norm1_, norm2_, query_norm_, key_norm_;
  EagerAttention attention_;
  Slot x_, q0_, k0_, v_, q_, k_, all_k_ = kNone, all_v_ = kNone, projected_, h_;
  Slot gate_, silu_, up_, product_, down_, y_, residual_;
  Slot cosines_ = kNone, sines_ = kNone;  // cast by the block itself
  Slot tables_ = kNone;                   // cast by FSDP2 before the block
  Slot shared_cosines_ = kNone, shared_sines_ = kNone, positions_ = kNone;  // of transformers
};

}  // namespace foreshard::lowering
