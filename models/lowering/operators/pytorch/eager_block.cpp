#include "models/lowering/operators/pytorch/eager_block.hpp"

#include "models/lowering/operators/pytorch/eager_attention.hpp"
#include "models/lowering/operators/pytorch/eager_norm.hpp"
#include "models/lowering/operators/pytorch/eager_rope.hpp"

namespace foreshard::lowering {
namespace {

// Outputs that a checkpointed block keeps.
struct Kept {
  explicit Kept(const CheckpointPlan& plan) {
    if (plan.mode != CheckpointMode::selective) return;
    is_selective = true;
    attention = plan.save_attention;
    odd = plan.save_matmul || plan.save_every_second_matmul;
    even = plan.save_matmul;
  }
  bool is_selective = false;
  bool attention = false;
  // Of the matrix products in their order (q, k, v, o, gate, up, down) the 1st, 3rd, ... and the others.
  bool odd = false, even = false;
};

class Block {
 public:
  Block(const Job& job, const BlockSite& site)
      : w_(job),
        site_(site),
        kept_(job.plan.checkpointing),
        root_(w_.module("")),
        attention_module_(w_.module("self_attn")),
        mlp_(w_.module("mlp")),
        to_q_(projection("self_attn.q_proj", w_.z.H * w_.z.d, w_.z.D, job.model.attention_bias)),
        to_k_(projection("self_attn.k_proj", w_.z.K * w_.z.d, w_.z.D, job.model.attention_bias)),
        to_v_(projection("self_attn.v_proj", w_.z.K * w_.z.d, w_.z.D, job.model.attention_bias)),
        to_o_(projection("self_attn.o_proj", w_.z.D, w_.z.H * w_.z.d, job.model.output_bias)),
        to_gate_(projection("mlp.gate_proj", w_.z.F, w_.z.D, job.model.mlp_bias)),
        to_up_(projection("mlp.up_proj", w_.z.F, w_.z.D, job.model.mlp_bias)),
        to_down_(projection("mlp.down_proj", w_.z.D, w_.z.F, job.model.mlp_bias)),
        norm1_(declare_norm(w_, "input_layernorm")),
        norm2_(declare_norm(w_, "post_attention_layernorm")),
        attention_(declare_attention(w_)) {
    const std::int64_t T = w_.z.T, rows = w_.of(T * w_.z.D), wide = w_.of(T * w_.z.F);
    x_ = w_.tensor(rows);
    q0_ = w_.tensor(w_.of(T * to_q_.out));
    k0_ = w_.tensor(w_.of(T * to_k_.out));
    v_ = w_.tensor(w_.of(T * to_v_.out));
    q_ = w_.tensor(w_.bytes(q0_));
    k_ = w_.tensor(w_.bytes(k0_));
    if (repeats()) {
      all_k_ = w_.tensor(w_.bytes(q0_));
      all_v_ = w_.tensor(w_.bytes(q0_));
    }
    projected_ = w_.tensor(rows);
    h_ = w_.tensor(rows);
    gate_ = w_.tensor(wide);
    silu_ = w_.tensor(wide);
    up_ = w_.tensor(wide);
    product_ = w_.tensor(wide);
    down_ = w_.tensor(rows);
    y_ = w_.tensor(rows);
    residual_ = w_.tensor(rows);
    if (casts_tables() && !site.is_unit) {
      cosines_ = w_.tensor(2 * w_.z.S * w_.z.d);
      sines_ = w_.tensor(2 * w_.z.S * w_.z.d);
    } else if (casts_tables()) {
      tables_ = w_.tensor(4 * w_.z.S * w_.z.d);
    }
    if (w_.is_transformers && site.is_first) {
      shared_cosines_ = w_.tensor(w_.of(w_.z.S * w_.z.d));
      shared_sines_ = w_.tensor(w_.of(w_.z.S * w_.z.d));
    }
    if (w_.is_transformers && site.is_first_checkpointed) positions_ = w_.tensor(8 * w_.z.S);
  }

  Segment segment() {
    w_.segment.input = x_;
    w_.segment.output = y_;
    w_.segment.gradient = residual_;
    if (site_.is_checkpointed) {
      checkpointed_forward();
      recomputation();
    } else {
      forward();
    }
    backward();
    return std::move(w_.segment);
  }

 private:
  EagerWriter::Linear projection(std::string_view path, std::int64_t out, std::int64_t in,
                                 bool bias) {
    return {w_.module(path), out, in, bias};
  }

  bool cast() const { return w_.z.is_16_bit; }
  bool is_math() const { return attention_.kernel == AttentionKernel::math; }
  bool composite() const { return norm_is_composite(w_); }
  // expand and reshape: with one head of keys that is a view.
  bool repeats() const { return attention_kv_heads(w_) != w_.z.K && w_.z.K > 1; }
  // Tables of angles in fp32, which a 16-bit model is called with.
  bool casts_tables() const {
    return !w_.is_transformers && !rope_is_complex(w_) &&
           w_.job.plan.precision.param != w_.job.plan.precision.storage;
  }
  Slot keys() const { return repeats() ? all_k_ : k_; }
  Slot values() const { return repeats() ? all_v_ : v_; }

  // --- what all forwards share ---------------------------------------------------------------------

  void enter_block() {
    if (tables_ != kNone) w_.write(tables_, "aten::_to_copy", {});
    w_.enter(root_);
  }

  void rotate_and_repeat(bool frees_q, bool frees_k, bool frees_v) {
    w_.enter(attention_module_);
    if (cosines_ != kNone) {
      w_.write(cosines_, "aten::_to_copy", {});
      w_.write(sines_, "aten::_to_copy", {});
    }
    rope_forward(w_, q0_, q_);
    rope_forward(w_, k0_, k_);
    const Slot q = frees_q ? q0_ : kNone, k = frees_k ? k0_ : kNone;
    if (w_.is_transformers) {
      w_.free({q, k});
    } else {
      w_.free({k, q});
    }
    if (!repeats()) return;
    w_.write(all_k_, "aten::clone", {k_});
    w_.free({k_});
    w_.write(all_v_, "aten::clone", {v_});
    if (frees_v) w_.free({v_});
  }

  void attend(bool keeps) {
    attention_forward(w_, attention_, {q_, keys(), values(), keeps, kept_.is_selective});
  }

  // --- forward -------------------------------------------------------------------------------------

  void forward() {
    w_.begin(w_.segment.forward);
    enter_block();
    norm_forward(w_, norm1_, x_);
    project(to_q_, norm1_.output, q0_);
    project(to_k_, norm1_.output, k0_);
    project(to_v_, norm1_.output, v_);
    rotate_and_repeat(true, true, true);
    attend(true);
    attention_output();
    w_.leave(attention_module_);
    w_.enter(root_);
    w_.write(h_, "aten::add", {x_, projected_});
    w_.free({projected_});
    norm_forward(w_, norm2_, h_);
    gate_and_up();
    project(to_down_, product_, down_);
    w_.leave(mlp_);
    w_.enter(root_);
    w_.write(y_, "aten::add", {h_, down_});
    w_.free({down_});
    // Composite 16-bit norms keep a copy of their own, so that nothing holds their input.
    const bool drops_inputs = composite() && cast();
    if (drops_inputs) w_.free({h_});
    w_.leave(root_);
    if (!drops_inputs) return;
    if (w_.is_transformers && site_.is_first) {
      w_.hand_over(x_, Shared::embedded);
    } else {
      w_.free({x_});
    }
  }

  void project(const EagerWriter::Linear& l, Slot x, Slot y) {
    w_.enter(l.module);
    w_.linear(l, x, y);
  }

  void gate_and_up() {
    project(to_gate_, norm2_.output, gate_);
    w_.enter(mlp_);
    w_.write(silu_, "aten::silu", {gate_});
    project(to_up_, norm2_.output, up_);
    w_.enter(mlp_);
    w_.write(product_, "aten::mul", {silu_, up_});
  }

  // The output's projection, and what goes with attention's end. The math path's inputs are nobody's by
  // then.
  void attention_output() {
    if (is_math() && w_.is_transformers) w_.free({attention_.result});
    project(to_o_, attention_.out, projected_);
    w_.enter(attention_module_);
    if (!is_math()) return;
    w_.free({q_, keys(), values(), w_.is_transformers ? kNone : attention_.result});
  }

  // --- under checkpointing -------------------------------------------------------------------------

  bool keeps_attention() const { return kept_.attention && !is_math(); }

  void checkpointed_forward() {
    w_.begin(w_.segment.checkpointed_forward);
    enter_block();
    const Slot n1 = norm_forward_unkept(w_, norm1_, x_);
    project(to_q_, n1, q0_);
    project(to_k_, n1, k0_);
    project(to_v_, n1, v_);
    rotate_and_repeat(!kept_.odd, !kept_.even, !kept_.odd);
    attend(keeps_attention());
    if (is_math() && w_.is_transformers) w_.free({attention_.result});
    project(to_o_, attention_.out, projected_);
    w_.enter(attention_module_);
    free_attention_inputs();
    w_.leave(attention_module_);
    w_.free({n1});
    w_.enter(root_);
    w_.write(h_, "aten::add", {x_, projected_});
    if (!kept_.even) w_.free({projected_});
    const Slot n2 = norm_forward_unkept(w_, norm2_, h_);
    project(to_gate_, n2, gate_);
    w_.enter(mlp_);
    w_.write(silu_, "aten::silu", {gate_});
    if (!kept_.odd) w_.free({gate_});
    project(to_up_, n2, up_);
    w_.enter(mlp_);
    w_.write(product_, "aten::mul", {silu_, up_});
    w_.free({silu_, kept_.even ? kNone : up_});
    project(to_down_, product_, down_);
    w_.free({product_});
    w_.leave(mlp_);
    w_.free({n2});
    w_.enter(root_);
    w_.write(y_, "aten::add", {h_, down_});
    if (!kept_.odd) w_.free({down_});
    w_.free({h_});
    w_.leave(root_);
  }

  void free_attention_inputs() {
    const Slot v = repeats() ? all_v_ : kept_.odd ? kNone : v_;
    if (is_math()) {
      w_.free({attention_.out, q_, keys(), v});
      if (!w_.is_transformers) w_.free({cosines_, sines_, attention_.result});
      return;
    }
    const Slot out = keeps_attention() ? kNone : attention_.out;
    if (w_.is_transformers) {
      w_.free({out, q_, keys(), v});
    } else {
      w_.free({q_, keys(), v, cosines_, sines_, out});
    }
  }

  void recomputation() {
    w_.begin(w_.segment.recomputation, Thread::autograd);
    w_.enter(root_);
    norm_forward(w_, norm1_, x_);
    project_again(kept_.odd, to_q_, norm1_.output, q0_);
    project_again(kept_.even, to_k_, norm1_.output, k0_);
    project_again(kept_.odd, to_v_, norm1_.output, v_);
    rotate_and_repeat(true, true, true);
    if (!keeps_attention()) attend(true);
    if (is_math() && w_.is_transformers) w_.free({attention_.result});
    project_again(kept_.even, to_o_, attention_.out, projected_);
    w_.enter(attention_module_);
    if (is_math()) {
      w_.free({q_, keys(), values(), w_.is_transformers ? kNone : attention_.result});
    }
    w_.leave(attention_module_);
    w_.enter(root_);
    w_.write(h_, "aten::add", {x_, projected_});
    w_.free({projected_});
    norm_forward(w_, norm2_, h_);
    project_again(kept_.odd, to_gate_, norm2_.output, gate_);
    w_.enter(mlp_);
    w_.write(silu_, "aten::silu", {gate_});
    project_again(kept_.even, to_up_, norm2_.output, up_);
    w_.enter(mlp_);
    w_.write(product_, "aten::mul", {silu_, up_});
    const bool drops_h = composite() && cast();
    if (stops_early()) return w_.free({drops_h ? h_ : kNone});
    project_again(kept_.odd, to_down_, product_, down_);
    w_.enter(root_);
    w_.write(y_, "aten::add", {h_, down_});
    w_.free({down_, drops_h ? h_ : kNone, y_});
  }

  bool stops_early() const {
    return w_.plan.checkpoint_early_stop ||
           w_.job.plan.checkpointing.mode == CheckpointMode::transformers;
  }

  void project_again(bool is_kept, const EagerWriter::Linear& l, Slot x, Slot y) {
    w_.enter(l.module);
    if (!is_kept) w_.linear(l, x, y);
  }

  // --- backward ------------------------------------------------------------------------------------

  void backward() {
    const bool again = site_.is_checkpointed;
    w_.begin(again ? w_.segment.recomputed_backward : w_.segment.backward, Thread::autograd);
    w_.enter(to_down_.module);
    if (again) {
      w_.recompute();
      w_.enter(to_down_.module);
    }
    mlp_backward(again);
    attention_block_backward(again);
    w_.leave(root_);
  }

  // Frees what a node saved and the gradient that came to it; recomputed tensors die first.
  void end_node(bool again, EagerWriter::Reads saved, Slot gradient) {
    if (!again) w_.free({gradient});
    w_.free(saved);
    if (again) w_.free({gradient});
  }

  Slot like(std::string_view op, Slot of, EagerWriter::Reads reads) {
    return w_.make_like(op, of, reads);
  }

  void mlp_backward(bool again) {
    const Slot d_product = w_.linear_backward(to_down_, residual_, product_);
    w_.free({product_});
    w_.accumulate();
    w_.enter(mlp_);
    const Slot d_up = like("aten::mul", up_, {d_product, silu_}),
               d_silu = like("aten::mul", silu_, {d_product, up_});
    if (again) {
      w_.free({silu_, up_, d_product});
    } else {
      w_.free({d_product, up_, silu_});
    }
    w_.enter(to_up_.module);
    const Slot from_up = w_.linear_backward(to_up_, d_up, norm2_.output);
    w_.free({d_up});
    w_.accumulate();
    w_.enter(mlp_);
    const Slot d_gate = like("aten::silu_backward", gate_, {d_silu, gate_});
    end_node(again, {gate_}, d_silu);
    w_.enter(to_gate_.module);
    const Slot from_gate = w_.linear_backward(to_gate_, d_gate, norm2_.output);
    end_node(again, {norm2_.output}, d_gate);
    const Slot sum = like("aten::add", from_up, {from_up, from_gate});
    w_.free({from_up, from_gate});
    w_.accumulate();
    w_.leave(mlp_);
    norm_backward(w_, norm2_, {sum, h_, residual_, again, {}, false});
  }

  void attention_block_backward(bool again) {
    w_.enter(to_o_.module);
    const Slot dy = w_.linear_backward(to_o_, residual_, attention_.out);
    if (is_math()) w_.free({attention_.out});
    w_.accumulate();
    w_.enter(attention_module_);
    AttentionGradients g = attention_backward(w_, attention_, {dy, q_, keys(), values(), again});
    if (attention_kv_heads(w_) != w_.z.K) {
      g.dv = summed_over_repeats(g.dv);
      g.dk = summed_over_repeats(g.dk);
    }
    rotate_back(again, g);
    if (is_math()) g.dv = as_rows(g.dv, w_.z.K);
    w_.enter(to_v_.module);
    const Slot from_v = w_.linear_backward(to_v_, g.dv, norm1_.output);
    w_.free({g.dv});
    w_.accumulate();
    w_.enter(to_k_.module);
    if (w_.is_transformers) g.dk = as_rows(g.dk, w_.z.K);
    const Slot from_k = w_.linear_backward(to_k_, g.dk, norm1_.output);
    w_.free({g.dk});
    const Slot sum = like("aten::add", from_v, {from_v, from_k});
    w_.free({from_v, from_k});
    w_.accumulate();
    w_.enter(to_q_.module);
    if (w_.is_transformers) g.dq = as_rows(g.dq, w_.z.H);
    const Slot from_q = w_.linear_backward(to_q_, g.dq, norm1_.output);
    end_node(again, {norm1_.output}, g.dq);
    w_.update(sum, "aten::add_", {from_q});
    w_.free({from_q});
    w_.accumulate();
    w_.leave(attention_module_);
    NormBackward first{sum, x_, residual_, again, {}, again};
    if (again) first.arguments = checkpoint_arguments();
    norm_backward(w_, norm1_, first);
  }

  // Up to 2.8 the slices of x[:, :, :, None, :] are nodes of their own, each a copy.
  Slot summed_over_repeats(Slot g) {
    const std::int64_t bytes = w_.of(w_.z.T * w_.z.K * w_.z.d);
    constexpr int kSlices = 4;
    for (int n = 0; n <= (w_.rules.slices_are_nodes ? kSlices : 0); ++n) {
      const Slot next = w_.make(n == 0 ? "aten::sum" : "aten::slice_backward", bytes, {g});
      w_.free({g});
      g = next;
    }
    return g;
  }

  void rotate_back(bool again, AttentionGradients& g) {
    RopeBackward k{g.dk, w_.z.K, is_math(), again, kNone, kNone};
    RopeBackward q{g.dq, w_.z.H, is_math(), again, kNone, kNone};
    if (shared_sines_ != kNone && !again) {
      w_.receive(shared_sines_, Shared::sines);
      w_.receive(shared_cosines_, Shared::cosines);
      q.sines = shared_sines_;
      q.cosines = shared_cosines_;
    } else if (cosines_ != kNone) {
      q.sines = sines_;
      q.cosines = cosines_;
    } else if (tables_ != kNone && !again) {
      q.cosines = tables_;
    }
    g.dk = rope_backward(w_, k);
    g.dq = rope_backward(w_, q);
  }

  // A gradient by heads read as rows: a copy unless there is one head.
  Slot as_rows(Slot g, std::int64_t heads) {
    if (heads == 1) return g;
    const Slot rows = like("aten::clone", g, {g});
    w_.free({g});
    return rows;
  }

  // What checkpoint() was called with dies once the first norm is done: its input, the tables, and of
  // transformers what all blocks were called with, in the last one to run.
  std::vector<Slot> checkpoint_arguments() {
    std::vector<Slot> others;
    if (w_.is_transformers) {
      if (shared_sines_ != kNone) {
        w_.receive(shared_sines_, Shared::sines);
        w_.receive(shared_cosines_, Shared::cosines);
        others = {shared_sines_, shared_cosines_};
      }
      if (positions_ != kNone) {
        w_.receive(positions_, Shared::positions);
        others.push_back(positions_);
      }
    } else if (tables_ != kNone) {
      others = {tables_};
    }
    const bool input_last = w_.rules.checkpoint_input_dies_last ||
                            w_.job.plan.checkpointing.mode == CheckpointMode::transformers;
    others.insert(input_last ? others.end() : others.begin(), x_);
    return others;
  }

  EagerWriter w_;
  BlockSite site_;
  Kept kept_;
  std::int32_t root_, attention_module_, mlp_;
  EagerWriter::Linear to_q_, to_k_, to_v_, to_o_, to_gate_, to_up_, to_down_;
  EagerNorm norm1_, norm2_;
  EagerAttention attention_;
  Slot x_, q0_, k0_, v_, q_, k_, all_k_ = kNone, all_v_ = kNone, projected_, h_;
  Slot gate_, silu_, up_, product_, down_, y_, residual_;
  Slot cosines_ = kNone, sines_ = kNone;  // cast by the block itself
  Slot tables_ = kNone;                   // cast by FSDP2 before the block
  Slot shared_cosines_ = kNone, shared_sines_ = kNone, positions_ = kNone;  // of transformers
};

}  // namespace

Segment eager_block(const Job& job, const BlockSite& site) {
  return Block(job, site).segment();
}

}  // namespace foreshard::lowering
