// Backward, of tensors that forward kept or that were computed again.
#include "models/lowering/operators/pytorch/eager_block_script.hpp"

namespace foreshard::lowering {

void EagerBlock::backward() {
  // What a graph of its own saved dies in the order of one that was recorded in forward.
  const bool again = site_.is_checkpointed && !is_reentrant();
  w_.begin(site_.is_checkpointed ? w_.segment.recomputed_backward : w_.segment.backward,
           Thread::autograd);
  if (is_reentrant()) {
    if (!recomputes_with_hooks(w_.job.plan)) w_.enter(root_);
    w_.hold(x_);
    w_.recompute();
  }
  stream_ = residual_;
  if (w_.autocasts()) {
    w_.enter(root_);
    given_ = product_gradient(h_);
  } else {
    given_ = stream_;
  }
  w_.enter(to_down_.called);
  // Scaling what an adapter adds needs nothing that was saved.
  const bool scales_first = w_.requires_gradient(down_) && !to_down_.factors.empty();
  if (again && !scales_first) {
    w_.recompute();
    w_.enter(to_down_.called);
  }
  mlp_backward(again);
  attention_block_backward(again);
  if (site_.is_checkpointed && input_is_leaf()) w_.hand_over(x_, Shared::embedded);
  w_.leave(root_);
  if (!is_reentrant()) return;
  w_.free({y_, residual_});
  if (!input_is_leaf()) w_.release({x_});
  w_.segment.new_gradient = stream_;
}

// Adds what comes through a norm to the stream's gradient: in place, but for the first where others hold it.
void EagerBlock::add_to_stream(const EagerNorm& norm, NormBackward at) {
  if (is_reentrant() && stream_ == residual_) {
    at.held = residual_;
    stream_ = w_.tensor(w_.bytes(residual_));
  }
  at.residual = stream_;
  norm_backward(w_, norm, at);
}

// Frees what a node saved and the gradient that came to it; recomputed tensors die first.
void EagerBlock::end_node(bool again, EagerWriter::Reads saved, Slot gradient) {
  if (!again) w_.free({gradient});
  w_.release(saved);
  if (again) w_.free({gradient});
}

Slot EagerBlock::like(std::string_view op, Slot of, EagerWriter::Reads reads) {
  return w_.make_like(op, of, reads);
}

// The residual stream's gradient, as a linear layer is given it whose output was added to `other`.
Slot EagerBlock::product_gradient(Slot other) {
  if (!w_.autocasts()) return stream_;
  const Slot narrow = w_.make("aten::_to_copy", w_.bytes(projected_), {stream_});
  if (!w_.requires_gradient(other)) w_.free({stream_});
  return narrow;
}

void EagerBlock::mlp_backward(bool again) {
  if (!w_.requires_gradient(down_)) return;
  const Slot d_product = w_.linear_backward(
      to_down_, {given_, product_, again, nullptr, given_ == stream_ && w_.requires_gradient(h_),
                 again && !to_down_.factors.empty()});
  if (d_product == kNone) return;
  w_.enter(mlp_);
  const Slot d_up = w_.requires_gradient(up_) ? like("aten::mul", up_, {d_product, silu_}) : kNone,
             d_silu =
                 w_.requires_gradient(silu_) ? like("aten::mul", silu_, {d_product, up_}) : kNone;
  if (again) {
    w_.release({silu_, up_});
    w_.free({d_product});
  } else {
    w_.free({d_product});
    w_.release({up_, silu_});
  }
  EagerWriter::GradientSum sum;
  if (d_up != kNone) {
    w_.enter(to_up_.called);
    w_.linear_backward(to_up_, {d_up, n2_, again, &sum});
  }
  if (d_silu != kNone) {
    w_.enter(mlp_);
    const Slot d_gate = like("aten::silu_backward", gate_, {d_silu, gate_});
    end_node(again, {gate_}, d_silu);
    w_.enter(to_gate_.called);
    w_.linear_backward(to_gate_, {d_gate, n2_, again, &sum});
  }
  w_.leave(mlp_);
  if (sum.slot != kNone) add_to_stream(norm2_, {.dy = sum.slot, .x = h_, .recomputed = again});
}

void EagerBlock::attention_block_backward(bool again) {
  NormBackward first{.x = x_, .recomputed = again, .is_first_of_checkpoint = again};
  if (again) first.arguments = checkpoint_arguments();
  if (w_.requires_gradient(projected_)) first.dy = attention_backward_to_norm(again);
  if (first.dy != kNone) {
    add_to_stream(norm1_, std::move(first));
  } else {
    w_.free_all(first.arguments);
  }
}

// The gradient of the first norm's output.
Slot EagerBlock::attention_backward_to_norm(bool again) {
  given_ = product_gradient(x_);
  w_.enter(to_o_.called);
  const Slot dy = w_.linear_backward(to_o_, {given_, attention_.out, again, nullptr,
                                             given_ == stream_ && w_.requires_gradient(x_)});
  if (dy == kNone) return kNone;
  w_.enter(attention_module_);
  AttentionGradients g = attention_backward(w_, attention_,
                                            {.dy = dy,
                                             .q = cast_queries(),
                                             .k = cast_keys(),
                                             .v = values(),
                                             .recomputed = again,
                                             .needs = attention_needs()});
  for (Slot* const wide : {&g.dq, &g.dk}) {
    if (cast_q_ == kNone || *wide == kNone) continue;
    const Slot narrow = *wide;
    *wide = w_.make("aten::_to_copy", 4 * w_.bytes(narrow) / w_.z.e, {narrow});
    w_.free({narrow});
  }
  if (attention_.kv_heads != w_.z.K) {
    g.dv = summed_over_repeats(g.dv, w_.z.e);
    g.dk = summed_over_repeats(g.dk, cast_k_ == kNone ? w_.z.e : item_size(w_.stream_type));
  }
  if (g.dk != kNone || g.dq != kNone) rotate_back(again, g);
  const bool is_by_heads = attention_.copies_result() && !sums_repeats();
  if (is_by_heads || repeats_for_mask()) g.dv = as_rows(g.dv, w_.z.K);
  EagerWriter::GradientSum sum;
  const auto project_back = [&](const Projection& l, Slot dy_of, Slot y) {
    if (w_.requires_gradient(y)) w_.linear_backward(l, {dy_of, n1_, again, &sum});
  };
  w_.enter(to_v_.called);
  project_back(to_v_, g.dv, v_);
  if (has_head_norms() && g.dk != kNone) {
    g.dk = norm_backward(w_, key_norm_, {.dy = g.dk, .x = k0_, .recomputed = again});
  }
  w_.enter(attention_module_);  // a projection's hooks come after its output's gradient is there
  if (w_.code.rotates_by_heads) g.dk = as_rows(g.dk, w_.z.K);
  w_.enter(to_k_.called);
  project_back(to_k_, g.dk, k0_);
  if (has_head_norms() && g.dq != kNone) {
    g.dq = norm_backward(w_, query_norm_, {.dy = g.dq, .x = q0_, .recomputed = again});
  }
  w_.enter(attention_module_);
  if (w_.code.rotates_by_heads) g.dq = as_rows(g.dq, w_.z.H);
  w_.enter(to_q_.called);
  project_back(to_q_, g.dq, q0_);
  w_.leave(attention_module_);
  return sum.slot;
}

// Up to 2.8 the slices of x[:, :, :, None, :] are nodes of their own, each a copy; an unsqueezed tensor
// has none.
Slot EagerBlock::summed_over_repeats(Slot g, std::int64_t item) {
  if (g == kNone) return g;
  const std::int64_t bytes = item * w_.z.T * w_.z.K * w_.z.d;
  const int slices = w_.rules.slices_are_nodes && !w_.code.repeats_together ? 4 : 0;
  for (int n = 0; n <= slices; ++n) {
    const Slot next = w_.make(n == 0 ? "aten::sum" : "aten::slice_backward", bytes, {g});
    w_.free({g});
    g = next;
  }
  return g;
}

void EagerBlock::rotate_back(bool again, AttentionGradients& g) {
  // With one head the gradient of keys, a product's second factor, is transposed by the math path.
  const bool has_one_head = w_.z.H == 1,
             is_transposed = attention_.kernel == AttentionKernel::math && has_one_head;
  RopeBackward at{
      .gradients = {g.dq, g.dk},
      .copies_q = attention_.copies_result() && !has_one_head,
      .copies_k = is_transposed || (attention_.copies_result() && w_.z.K > 1 && !sums_repeats()),
      .recomputed = again};
  if (shared_sines_ != kNone && !again) {
    w_.receive(shared_sines_, Shared::sines);
    w_.receive(shared_cosines_, Shared::cosines);
    at.sines = shared_sines_;
    at.cosines = shared_cosines_;
  } else if (cosines_ != kNone) {
    at.sines = sines_;
    at.cosines = cosines_;
  } else if (tables_ != kNone && !again) {
    at.cosines = tables_;
  }
  const QueryAndKey turned = rope_backward(w_, at);
  g.dk = turned.k;
  g.dq = turned.q;
}

// A gradient by heads read as rows: a copy unless there is one head.
Slot EagerBlock::as_rows(Slot g, std::int64_t heads) {
  if (heads == 1 || g == kNone) return g;
  const Slot rows = like("aten::clone", g, {g});
  w_.free({g});
  return rows;
}

// What checkpoint() was called with dies once the first norm is done: its input, the tables, and of
// transformers what all blocks were called with, in the last one to run.
std::vector<Slot> EagerBlock::checkpoint_arguments() {
  std::vector<Slot> others;
  if (mask_ != kNone) {
    w_.receive(mask_, *site_.mask);
    others = {mask_};
  }
  if (rotary_ == Rotary::shared_half) {
    if (shared_sines_ != kNone) {
      w_.receive(shared_sines_, Shared::sines);
      w_.receive(shared_cosines_, Shared::cosines);
      others.insert(others.end(), {shared_sines_, shared_cosines_});
    }
    if (positions_ != kNone) {
      w_.receive(positions_, Shared::positions);
      // In the order of the call, which is another one in MistralModel.
      const bool is_second = w_.job.model.family == ModelFamily::mistral;
      const std::ptrdiff_t tables = is_second && shared_sines_ != kNone ? 2 : 0;
      others.insert(others.end() - tables, positions_);
    }
  } else if (tables_ != kNone) {
    others = {tables_};
  }
  const bool input_last = w_.rules.checkpoint_input_dies_last ||
                          w_.job.plan.checkpointing.mode == CheckpointMode::transformers;
  if (input_is_leaf()) return others;  // the graph holds it to its end
  others.insert(input_last ? others.end() : others.begin(), x_);
  return others;
}

}  // namespace foreshard::lowering
