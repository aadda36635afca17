#include "models/lowering/operators/pytorch/eager_head.hpp"

#include "models/lowering/operators/pytorch/eager_loss.hpp"
#include "models/lowering/operators/pytorch/eager_norm.hpp"
#include "models/sharding/layer_attention.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard::lowering {
namespace {

// By the arguments of a checkpointed block that is given it; without gradients none holds any.
bool is_held_by_checkpoint(const EagerWriter& w, const DecoderMask& mask) {
  if (!w.has_backward()) return false;
  for (std::int64_t i = 0; i < w.z.layers; ++i) {
    if (w.job.model.has_window(i) == mask.has_window &&
        is_checkpointed(w.job, static_cast<std::size_t>(i))) {
      return true;
    }
  }
  return false;
}

// What the decoder's forward held until its end. Under checkpointing blocks hold what they were called
// with: the position ids, and the first one the embedding's output.
void end_of_inner_model(EagerWriter& w, Slot x) {
  bool is_any_checkpointed = false;
  for (std::int64_t i = 0; i < w.z.layers; ++i) {
    is_any_checkpointed |= w.has_backward() && is_checkpointed(w.job, static_cast<std::size_t>(i));
  }
  w.drop({x});
  const auto drop = [&w](Shared shared, std::int64_t bytes) {
    const Slot slot = w.tensor(bytes);
    w.receive(slot, shared);
    w.free({slot});
  };
  const auto drop_positions = [&] {
    if (!is_any_checkpointed) drop(Shared::positions, 8 * w.z.S);
  };
  const auto drop_masks = [&] {
    for (const DecoderMask& mask : decoder_masks(w.job)) {
      if (mask.bytes == 0 || is_held_by_checkpoint(w, mask)) continue;
      drop(mask.has_window ? Shared::window_mask : Shared::mask, mask.bytes);
    }
  };
  // Qwen's models hold the two others in the arguments of their masks, in this order.
  const ModelFamily family = w.job.model.family;
  const bool is_qwen = family == ModelFamily::qwen2 || family == ModelFamily::qwen3;
  if (is_qwen) {
    drop_masks();
    drop(Shared::embedded, w.bytes(x));
    drop_positions();
  } else {
    drop_positions();
    drop(Shared::embedded, w.bytes(x));
    drop_masks();
  }
  if (w.has_backward() || rotary_of(w.job.plan) != Rotary::shared_half) return;
  for (const Shared table : {Shared::sines, Shared::cosines}) {
    drop(table, w.of_stream(w.z.S * w.z.d));
  }
}

}  // namespace

Segment eager_head(const Job& job, GradMode grad) {
  EagerWriter w(job, grad);
  const std::int64_t T = w.z.T, D = w.z.D, V = w.z.V;
  const auto root = w.module("");
  const EagerNorm norm = declare_norm(w, "model.norm", w.z.T, w.z.D);
  const auto to_logits = w.declare_linear("lm_head", V, D, false, true);
  const Slot x = w.tensor(w.of_stream(T * D)), narrow = w.tensor(w.of(T * V));
  const Slot wide = model_widens_logits(w) ? w.tensor(4 * T * V) : kNone;
  const Slot logits = wide == kNone ? narrow : wide;
  // In backward the logits' slot holds their gradient.
  w.segment.slots[static_cast<std::size_t>(logits)].role = Role::logits;
  w.segment.input = x;
  w.segment.output = logits;

  w.begin(w.segment.forward);
  w.set_requires_gradient(x,
                          input_has_gradient(job, has_gradients(job), job.tree.find("model.norm")));
  const Slot normalized = norm_forward(w, norm, x);
  if (w.code.norm_replaces_input) w.drop({x});
  if (w.code.has_inner_model) end_of_inner_model(w, x);
  w.enter(to_logits.module);
  w.linear(to_logits, normalized, narrow);
  w.leave(to_logits.module);
  if (wide != kNone) {
    w.write(wide, "aten::_to_copy", {narrow});
    w.free({narrow});
  }
  if (w.code.loss_in_model) {
    if (!w.is_saved(normalized)) w.hand_over(normalized, Shared::hidden_states);
  } else {
    // The last variables of its forward.
    w.drop({normalized, w.code.norm_replaces_input ? kNone : x});
    w.leave(root);
  }
  w.begin(w.segment.end_of_autocast);
  w.end_autocast();
  if (!w.has_backward()) return std::move(w.segment);

  w.begin(w.segment.backward, Thread::autograd);
  w.enter(to_logits.module);
  if (wide != kNone) {
    w.write(narrow, "aten::_to_copy", {wide});
    w.free({wide});
  }
  Slot dx = w.linear_backward(to_logits, {narrow, normalized});
  if (dx != kNone && w.code.slices_hidden_states && w.rules.slices_are_nodes) {
    // hidden_states[:, 0:, :] has a node for each dimension.
    constexpr int kSlices = 3;
    for (int n = 0; n < kSlices; ++n) {
      const Slot next = w.make_like("aten::slice_backward", dx, {dx});
      w.free({dx});
      dx = next;
    }
  }
  w.segment.has_input_gradient = w.requires_gradient(x);
  if (dx != kNone) w.segment.gradient = norm_backward(w, norm, {.dy = dx, .x = x});
  return std::move(w.segment);
}

}  // namespace foreshard::lowering
