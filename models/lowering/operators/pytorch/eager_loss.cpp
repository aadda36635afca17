#include "models/lowering/operators/pytorch/eager_loss.hpp"

namespace foreshard::lowering {
namespace {

// Sizes of a loss over all logits, and what its two scripts share.
struct Loss {
  explicit Loss(const Job& job)
      : w(job),
        root(w.module("")),
        is_wide(w.code.loss_in_model || w.plan.autocast == Autocast::bf16 ||
                w.plan.logits == DType::fp32 || !w.z.is_16_bit),
        given(model_widens_logits(w) ? 4 : w.z.e),
        item(is_wide ? 4 : w.z.e),
        elements(w.z.T * w.z.V),
        logits(w.tensor(given * elements)),
        weight(w.tensor(item)) {
    w.segment.input = logits;
  }

  bool widens() const { return is_wide && given != 4; }
  // Of the root's forward that computes the loss: the head's input, where no node saved it, is its last
  // variable. A mask that only the call holds dies with it.
  void end_of_model(Slot loss) {
    if (!w.code.loss_in_model) return;
    const Slot hidden_states = w.tensor(w.of_stream(w.z.T * w.z.D));
    w.receive(hidden_states, Shared::hidden_states);
    w.free({hidden_states});
    w.leave(root);
    w.returned({loss, logits});
    if (w.plan.attention_mask == AttentionMask::none || w.plan.loop != TrainingLoop::plain) return;
    const Slot mask = w.tensor(8 * w.z.T);
    w.receive(mask, Shared::attention_mask);
    w.free({mask});
  }
  // What nothing else holds dies; the training loop may hold a reference.
  void drop_logits() {
    if (w.plan.keep_logits) {
      w.hand_over(logits, Shared::logits);
    } else {
      w.free({logits});
    }
  }
  // The mean over micro-steps, where there are several.
  Slot divided(Slot scalar) {
    return w.job.plan.batch.accumulation > 1 ? w.make("aten::div", item, {scalar}) : kNone;
  }
  void hand_over_loss(Slot loss) {
    const Slot mean = divided(loss);
    if (mean != kNone) w.free({loss});
    w.hand_over(mean == kNone ? loss : mean, Shared::loss);
  }

  EagerWriter w;
  std::int32_t root;
  bool is_wide;
  std::int64_t given, item, elements;  // bytes of a logit as it comes and as the loss sees it
  Slot logits, weight;
};

Segment whole_loss(const Job& job) {
  Loss l(job);
  EagerWriter& w = l.w;
  const std::int64_t T = w.z.T, V = w.z.V, B = w.z.B, S = w.z.S;
  const Slot probabilities = w.tensor(l.item * T * V);
  const Slot labels = w.tensor(8 * T), padded = w.tensor(8 * B * (S + 1));

  w.begin(w.segment.forward);
  const Slot wide = l.widens() ? w.make("aten::_to_copy", 4 * T * V, {l.logits}) : kNone;
  const Slot scores = l.widens() ? wide : l.logits;
  // transformers shifts the labels by one; of one sequence what was padded is contiguous and is kept.
  Slot kept_labels = kNone, dropped = kNone;
  if (w.code.loss_in_model) {
    w.write(padded, "aten::constant_pad_nd", {});
    kept_labels = padded;
    if (B > 1) {
      w.write(labels, "aten::contiguous", {padded});
      kept_labels = labels;
      dropped = padded;
    }
  }
  w.write(probabilities, "aten::_log_softmax", {scores});
  const Slot loss = w.make("aten::nll_loss_forward", l.item, {probabilities});
  w.allocate(l.weight);
  w.free({wide, dropped});
  l.end_of_model(loss);
  l.drop_logits();
  w.leave_autocast();
  l.hand_over_loss(loss);

  w.begin(w.segment.backward, Thread::autograd);
  const Slot one = w.make("aten::ones_like", l.item, {});
  const Slot divided = l.divided(one);
  if (w.code.loss_in_model) w.enter(l.root);
  const Slot d_loss = w.make("aten::nll_loss_backward", l.item * T * V, {one, probabilities});
  w.free({divided, kept_labels, l.weight});
  Slot gradient =
      w.make("aten::_log_softmax_backward_data", l.item * T * V, {d_loss, probabilities});
  w.free({d_loss, probabilities});
  if (l.widens()) {
    const Slot narrow = w.make("aten::_to_copy", w.of(T * V), {gradient});
    w.free({gradient});
    gradient = narrow;
  }
  w.segment.gradient = gradient;
  w.hand_over(one, Shared::root_gradient);
  return std::move(w.segment);
}

// A reduction that reads the logits for the maximum and the logarithm of the sum of each row, one that
// sums the loss, and one backward: nothing of the logits' size but their gradient.
Segment compiled_loss(const Job& job) {
  Loss l(job);
  EagerWriter& w = l.w;
  const Slot maxima = w.tensor(4 * w.z.T), logarithms = w.tensor(4 * w.z.T);

  w.begin(w.segment.forward);
  w.allocate(maxima);
  w.write(logarithms, "triton_red_fused__log_softmax", {l.logits});
  const Slot loss = w.scratch(l.item);
  w.write(l.weight, "triton_red_fused_nll_loss_forward", {maxima, logarithms});
  l.end_of_model(loss);
  l.hand_over_loss(loss);

  w.begin(w.segment.backward, Thread::autograd);
  const Slot one = w.make("aten::ones_like", l.item, {});
  const Slot divided = l.divided(one);
  if (w.code.loss_in_model) w.enter(l.root);
  const Slot gradient = w.make("triton_poi_fused__log_softmax_backward_data_nll_loss_backward",
                               w.bytes(l.logits), {l.logits, maxima, logarithms});
  w.free({maxima, l.weight, logarithms});
  l.drop_logits();
  w.free({divided});
  w.segment.gradient = gradient;
  w.hand_over(one, Shared::root_gradient);
  return std::move(w.segment);
}

bool is_compiled(const Plan& plan) {
  return plan.pytorch.loss == LossKind::compiled ||
         (plan.operators == OperatorSetName::pytorch_compile &&
          plan.pytorch.compile == CompileScope::blocks_and_loss);
}

}  // namespace

bool model_widens_logits(const EagerWriter& w) {
  return w.plan.keep_logits && !w.code.loss_in_model && w.plan.logits == DType::fp32 &&
         w.z.is_16_bit;
}

Segment eager_loss(const Job& job) {
  return is_compiled(job.plan) ? compiled_loss(job) : whole_loss(job);
}

}  // namespace foreshard::lowering
