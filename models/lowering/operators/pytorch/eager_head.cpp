#include "models/lowering/operators/pytorch/eager_head.hpp"

#include "models/lowering/operators/pytorch/eager_loss.hpp"
#include "models/lowering/operators/pytorch/eager_norm.hpp"

namespace foreshard::lowering {
namespace {

// What the model's forward held until its end. Under checkpointing blocks hold what they were called
// with: the position ids, and the first one the embedding's output.
void end_of_transformers_forward(EagerWriter& w, Slot x) {
  bool is_any_checkpointed = false;
  for (std::int64_t i = 0; i < w.z.layers; ++i) {
    is_any_checkpointed |= is_checkpointed(w.job, static_cast<std::size_t>(i));
  }
  if (w.z.is_16_bit) w.free({x});
  const auto drop = [&w](Shared shared, std::int64_t bytes) {
    const Slot slot = w.tensor(bytes);
    w.receive(slot, shared);
    w.free({slot});
  };
  const auto drop_positions = [&] {
    if (!is_any_checkpointed) drop(Shared::positions, 8 * w.z.S);
  };
  // Qwen's models hold both in the arguments of their masks, in this order.
  const ModelFamily family = w.job.model.family;
  const bool is_qwen = family == ModelFamily::qwen2 || family == ModelFamily::qwen3;
  if (!is_qwen) drop_positions();
  if (!is_checkpointed(w.job, 0) && w.z.is_16_bit) drop(Shared::embedded, w.bytes(x));
  if (is_qwen) drop_positions();
}

}  // namespace

Segment eager_head(const Job& job) {
  EagerWriter w(job);
  const std::int64_t T = w.z.T, D = w.z.D, V = w.z.V;
  const auto root = w.module("");
  const EagerNorm norm = declare_norm(w, "model.norm", w.z.T, w.z.D);
  const EagerWriter::Linear to_logits{w.module("lm_head"), V, D};
  const Slot x = w.tensor(w.of(T * D)), narrow = w.tensor(w.of(T * V));
  const Slot wide = model_widens_logits(w) ? w.tensor(4 * T * V) : kNone;
  const Slot logits = wide == kNone ? narrow : wide;
  // In backward the logits' slot holds their gradient.
  w.segment.slots[static_cast<std::size_t>(logits)].role = Role::logits;
  w.segment.input = x;
  w.segment.output = logits;

  const bool drops_input = norm_is_composite(w) && w.z.is_16_bit;
  w.begin(w.segment.forward);
  norm_forward(w, norm, x);
  if (w.is_transformers) end_of_transformers_forward(w, x);
  w.enter(to_logits.module);
  w.linear(to_logits, norm.output, narrow);
  w.leave(to_logits.module);
  if (wide != kNone) {
    w.write(wide, "aten::_to_copy", {narrow});
    w.free({narrow});
  }
  if (!w.is_transformers) {
    if (drops_input) w.free({x});  // the last variable of the model's forward
    w.leave(root);
  }

  w.begin(w.segment.backward, Thread::autograd);
  w.enter(to_logits.module);
  if (wide != kNone) {
    w.write(narrow, "aten::_to_copy", {wide});
    w.free({wide});
  }
  Slot dx = w.linear_backward(to_logits, narrow, norm.output);
  w.free({narrow, norm.output});
  if (w.is_transformers && w.rules.slices_are_nodes) {
    // hidden_states[:, 0:, :] has a node for each dimension.
    w.accumulate();
    constexpr int kSlices = 3;
    for (int n = 0; n < kSlices; ++n) {
      const Slot next = w.make_like("aten::slice_backward", dx, {dx});
      w.free({dx});
      dx = next;
    }
  }
  w.accumulate();
  w.segment.gradient = norm_backward(w, norm, {dx, x, kNone, false, {}, false});
  return std::move(w.segment);
}

}  // namespace foreshard::lowering
