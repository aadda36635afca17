#include "models/lowering/operators/pytorch/eager_head.hpp"

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
  const Slot x = w.tensor(w.of(T * D)), logits = w.tensor(w.of(T * V));
  // In backward the logits' slot holds their gradient.
  w.segment.slots[static_cast<std::size_t>(logits)].role = Role::logits;
  w.segment.input = x;
  w.segment.output = logits;

  const bool drops_input = norm_is_composite(w) && w.z.is_16_bit;
  w.begin(w.segment.forward);
  norm_forward(w, norm, x);
  if (w.is_transformers) end_of_transformers_forward(w, x);
  w.enter(to_logits.module);
  w.linear(to_logits, norm.output, logits);
  w.leave(to_logits.module);
  if (!w.is_transformers) {
    if (drops_input) w.free({x});  // the last variable of the model's forward
    w.leave(root);
  }

  w.begin(w.segment.backward, Thread::autograd);
  w.enter(to_logits.module);
  Slot dx = w.linear_backward(to_logits, logits, norm.output);
  w.free({logits, norm.output});
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

Segment eager_loss(const Job& job) {
  EagerWriter w(job);
  const std::int64_t T = w.z.T, V = w.z.V, B = w.z.B, S = w.z.S;
  const auto root = w.module("");
  const bool is_wide = w.is_transformers || w.plan.logits == DType::fp32 || !w.z.is_16_bit;
  const bool widens = is_wide && w.z.is_16_bit;
  const std::int64_t scalar = is_wide ? 4 : w.z.e;
  const bool is_divided = job.plan.batch.accumulation > 1;
  const Slot logits = w.tensor(w.of(T * V)), probabilities = w.tensor(scalar * T * V);
  const Slot weight = w.tensor(scalar), labels = w.tensor(8 * T),
             padded = w.tensor(8 * B * (S + 1));
  w.segment.input = logits;
  w.segment.gradient = logits;

  w.begin(w.segment.forward);
  const Slot wide = widens ? w.make("aten::_to_copy", 4 * T * V, {logits}) : kNone;
  const Slot scores = widens ? wide : logits;
  // transformers shifts the labels by one; of one sequence what was padded is contiguous and is kept.
  Slot kept_labels = kNone, dropped = kNone;
  if (w.is_transformers) {
    w.write(padded, "aten::constant_pad_nd", {});
    kept_labels = padded;
    if (B > 1) {
      w.write(labels, "aten::contiguous", {padded});
      kept_labels = labels;
      dropped = padded;
    }
  }
  w.write(probabilities, "aten::_log_softmax", {scores});
  Slot loss = w.make("aten::nll_loss_forward", scalar, {probabilities});
  w.allocate(weight);
  if (w.is_transformers) {
    w.free({wide, dropped});
    w.leave(root);
    w.free({logits});
  } else {
    w.free({wide, logits});
  }
  if (is_divided) {
    const Slot mean = w.make("aten::div", scalar, {loss});
    w.free({loss});
    loss = mean;
  }
  w.hand_over(loss, Shared::loss);

  w.begin(w.segment.backward, Thread::autograd);
  const Slot one = w.make("aten::ones_like", scalar, {});
  const Slot divided = is_divided ? w.make("aten::div", scalar, {one}) : kNone;
  if (w.is_transformers) w.enter(root);
  const Slot d_loss = w.make("aten::nll_loss_backward", scalar * T * V, {one, probabilities});
  w.free({divided, kept_labels, weight});
  Slot gradient =
      w.make("aten::_log_softmax_backward_data", scalar * T * V, {d_loss, probabilities});
  w.free({d_loss, probabilities});
  if (widens) {
    const Slot narrow = w.make("aten::_to_copy", w.of(T * V), {gradient});
    w.free({gradient});
    gradient = narrow;
  }
  w.segment.gradient = gradient;
  w.hand_over(one, Shared::root_gradient);
  return std::move(w.segment);
}

}  // namespace foreshard::lowering
