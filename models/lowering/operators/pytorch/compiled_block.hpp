// A decoder block that torch.compile made two graphs of, one forward and one backward: which operators
// Inductor fuses, what AOTAutograd's min-cut partitioner saves, and what backward computes again, with
// and without checkpointing. Read from what PyTorch 2.11 compiles of torchtitan's block.
#pragma once

#include "models/lowering/operators/pytorch/compiled_linear.hpp"
#include "models/lowering/operators/pytorch/eager_attention.hpp"
#include "models/lowering/operators/pytorch/eager_block.hpp"

namespace foreshard::lowering {

class CompiledBlock {
 public:
  CompiledBlock(const Job& job, const BlockSite& site);

  Segment segment();

 private:
  struct Projection : EagerWriter::Linear {
    bool is_kept = false;  // its output, under selective checkpointing
    Slot gradient = kNone, bias_gradient = kNone;
  };
  Projection projection(std::string_view path, std::int64_t out, std::int64_t in, bool bias);
  struct Norm {
    std::int32_t module = kNone;
    Slot output = kNone, rstd = kNone;
    Slot gradient = kNone;
  };
  Norm norm(std::string_view path);

  bool is_checkpointed() const { return site_.is_checkpointed; }
  bool keeps_attention() const;
  bool repeats() const;
  Slot values() const { return repeats() ? v_ : v0_; }

  // Parts of a forward; `again`: inside backward, where what was kept is not computed anew.
  void project(CompiledLinear& g, const Projection& l, Slot x, Slot y, bool again);
  Slot turned(CompiledLinear& g, Slot from, std::int64_t heads);
  void rotate_and_repeat(CompiledLinear& g);
  void attend(CompiledLinear& g, bool keeps);

  std::vector<Slot> kept() const;
  void take_storage_of_kept(const CompiledLinear& g);
  void forward();
  void recompute_attention(CompiledLinear& g);
  void recompute_mlp(CompiledLinear& g);

  void backward();
  void weight_gradient(CompiledLinear& g, const Projection& l, Slot dy, Slot x);
  void mlp_backward(CompiledLinear& g);
  void narrow_mlp_backward(CompiledLinear& g);
  void attention_backward(CompiledLinear& g);
  Slot rotate_back(CompiledLinear& g, Slot dq, std::int64_t heads, std::int64_t given_heads);
  void norms_backward(CompiledLinear& g);

  EagerWriter w_;
  BlockSite site_;
  int products_ = 0;
  std::int32_t root_;
  Projection to_q_, to_k_, to_v_, to_o_, to_gate_, to_up_, to_down_;
  Norm norm1_, norm2_;
  EagerAttention attention_;
  Slot x_, q0_, k0_, v0_, q_, k_, v_ = kNone, projected_, gate_, up_, product_, down_;
  // Gradients: of the output, of the block in front, of the sum in the middle, and of what linear layers
  // and attention were given.
  Slot dy_, dx_, dh_ = kNone, from_gate_ = kNone, from_up_ = kNone, from_q_ = kNone,
                 from_k_ = kNone, from_v_ = kNone, conjugate_ = kNone;
};

Segment compiled_block(const Job& job, const BlockSite& site);

}  // namespace foreshard::lowering
