// Forward under checkpointing, which keeps next to nothing, and the forward again inside backward.
#include "models/lowering/operators/pytorch/eager_block_script.hpp"

namespace foreshard::lowering {

void EagerBlock::checkpointed_forward() {
  w_.begin(w_.segment.checkpointed_forward);
  enter_block();
  const Slot n1 = norm_forward_unkept(w_, norm1_, x_);
  rotate_and_repeat(Pass::checkpointed, project_to_heads(Pass::checkpointed, n1));
  attend(keeps_attention());
  if (is_math() && w_.is_transformers) w_.free({attention_.result});
  project(Pass::checkpointed, to_o_, attention_.out, projected_);
  w_.enter(attention_module_);
  free_attention_inputs();
  w_.leave(attention_module_);
  w_.free({n1});
  w_.enter(root_);
  w_.write(h_, "aten::add", {x_, projected_});
  if (!to_o_.is_kept) w_.free({projected_});
  const Slot n2 = norm_forward_unkept(w_, norm2_, h_);
  project(Pass::checkpointed, to_gate_, n2, gate_);
  w_.enter(mlp_);
  w_.write(silu_, "aten::silu", {gate_});
  if (!to_gate_.is_kept) w_.free({gate_});
  project(Pass::checkpointed, to_up_, n2, up_);
  w_.enter(mlp_);
  w_.write(product_, "aten::mul", {silu_, up_});
  w_.free({silu_, to_up_.is_kept ? kNone : up_});
  project(Pass::checkpointed, to_down_, product_, down_);
  w_.free({product_});
  w_.leave(mlp_);
  w_.free({n2});
  w_.enter(root_);
  w_.write(y_, "aten::add", {h_, down_});
  if (!to_down_.is_kept) w_.free({down_});
  w_.free({h_});
  w_.leave(root_);
}

// torchtitan's list of what selective checkpointing saves names flash and memory-efficient attention.
bool EagerBlock::keeps_attention() const {
  return is_selective() && w_.job.plan.checkpointing.save_attention &&
         (attention_.kernel == AttentionKernel::flash ||
          attention_.kernel == AttentionKernel::efficient);
}

void EagerBlock::free_attention_inputs() {
  const Slot v = repeats() ? all_v_ : to_v_.is_kept ? kNone : v_;
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

void EagerBlock::recomputation() {
  w_.begin(w_.segment.recomputation, Thread::autograd);
  w_.enter(root_);
  norm_forward(w_, norm1_, x_);
  rotate_and_repeat(Pass::recomputed, project_to_heads(Pass::recomputed, norm1_.output));
  if (!keeps_attention()) attend(true);
  attention_output(Pass::recomputed);
  w_.leave(attention_module_);
  w_.enter(root_);
  w_.write(h_, "aten::add", {x_, projected_});
  w_.free({projected_});
  norm_forward(w_, norm2_, h_);
  gate_and_up(Pass::recomputed);
  const bool drops_h = composite() && cast();
  if (stops_early()) return w_.free({drops_h ? h_ : kNone});
  project(Pass::recomputed, to_down_, product_, down_);
  w_.enter(root_);
  w_.write(y_, "aten::add", {h_, down_});
  w_.free({down_, drops_h ? h_ : kNone, y_});
}

bool EagerBlock::stops_early() const {
  return w_.plan.checkpoint_early_stop ||
         w_.job.plan.checkpointing.mode == CheckpointMode::transformers;
}

}  // namespace foreshard::lowering
