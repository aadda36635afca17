// Backward, of tensors that forward kept or that were computed again.
#include "models/lowering/operators/pytorch/eager_block_script.hpp"

namespace foreshard::lowering {

void EagerBlock::backward() {
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
void EagerBlock::end_node(bool again, EagerWriter::Reads saved, Slot gradient) {
  if (!again) w_.free({gradient});
  w_.free(saved);
  if (again) w_.free({gradient});
}

Slot EagerBlock::like(std::string_view op, Slot of, EagerWriter::Reads reads) {
  return w_.make_like(op, of, reads);
}

// Of the last linear layer that read x, which dies with the gradient.
Slot EagerBlock::last_backward(bool again, const Projection& l, Slot dy, Slot x) {
  const Slot dx = w_.linear_backward(l, dy, x, again ? x : kNone);
  w_.free({dy, again ? kNone : x});
  return dx;
}

void EagerBlock::mlp_backward(bool again) {
  const Slot d_product =
      w_.linear_backward(to_down_, residual_, product_, again ? product_ : kNone);
  if (!again) w_.free({product_});
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
  const Slot from_gate = last_backward(again, to_gate_, d_gate, norm2_.output);
  const Slot sum = like("aten::add", from_up, {from_up, from_gate});
  w_.free({from_up, from_gate});
  w_.accumulate();
  w_.leave(mlp_);
  norm_backward(w_, norm2_, {sum, h_, residual_, again, {}, false});
}

void EagerBlock::attention_block_backward(bool again) {
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
  if (has_head_norms()) g.dk = norm_backward(w_, key_norm_, {g.dk, k0_, kNone, again, {}, false});
  w_.enter(to_k_.module);
  if (w_.is_transformers) g.dk = as_rows(g.dk, w_.z.K);
  const Slot from_k = w_.linear_backward(to_k_, g.dk, norm1_.output);
  w_.free({g.dk});
  const Slot sum = like("aten::add", from_v, {from_v, from_k});
  w_.free({from_v, from_k});
  w_.accumulate();
  if (has_head_norms()) {
    g.dq = norm_backward(w_, query_norm_, {g.dq, q0_, kNone, again, {}, false});
  }
  w_.enter(to_q_.module);
  if (w_.is_transformers) g.dq = as_rows(g.dq, w_.z.H);
  const Slot from_q = last_backward(again, to_q_, g.dq, norm1_.output);
  w_.update(sum, "aten::add_", {from_q});
  w_.free({from_q});
  w_.accumulate();
  w_.leave(attention_module_);
  NormBackward first{sum, x_, residual_, again, {}, again};
  if (again) first.arguments = checkpoint_arguments();
  norm_backward(w_, norm1_, first);
}

// Up to 2.8 the slices of x[:, :, :, None, :] are nodes of their own, each a copy.
Slot EagerBlock::summed_over_repeats(Slot g) {
  const std::int64_t bytes = w_.of(w_.z.T * w_.z.K * w_.z.d);
  constexpr int kSlices = 4;
  for (int n = 0; n <= (w_.rules.slices_are_nodes ? kSlices : 0); ++n) {
    const Slot next = w_.make(n == 0 ? "aten::sum" : "aten::slice_backward", bytes, {g});
    w_.free({g});
    g = next;
  }
  return g;
}

void EagerBlock::rotate_back(bool again, AttentionGradients& g) {
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
Slot EagerBlock::as_rows(Slot g, std::int64_t heads) {
  if (heads == 1) return g;
  const Slot rows = like("aten::clone", g, {g});
  w_.free({g});
  return rows;
}

// What checkpoint() was called with dies once the first norm is done: its input, the tables, and of
// transformers what all blocks were called with, in the last one to run.
std::vector<Slot> EagerBlock::checkpoint_arguments() {
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

}  // namespace foreshard::lowering
