#include "models/lowering/operators/pytorch/eager_loss.hpp"

#include "models/sharding/accelerate.hpp"

namespace foreshard::lowering {
namespace {

// Sizes of a loss over all logits, and what its two scripts share.
struct Loss {
  Loss(const Job& job, GradMode grad)
      : w(job, grad),
        root(w.module("")),
        in_trainer(runs_in_trainer(job.plan)),
        is_wide(w.code.loss_in_model || w.plan.logits == DType::fp32 || !w.z.is_16_bit),
        given(model_widens_logits(w) ? 4 : w.z.e),
        scored(is_wide ? 4 : w.z.e),
        item(w.plan.autocast == Autocast::bf16 ? 4 : scored),
        elements(w.z.T * w.z.V),
        logits(w.tensor(given * elements)),
        weight(w.tensor(item)) {
    w.segment.input = logits;
  }

  bool widens() const { return is_wide && given != 4; }
  // cross_entropy_loss takes the logarithms in the type of the logits, which it names, so that autocast
  // leaves them alone; nll_loss autocast gives fp32.
  bool widens_scores() const { return scored != item; }
  // Of the root's forward that computes the loss: the head's input, where no node saved it, is its last
  // variable. A mask that only the call holds dies with it.
  void end_of_model(Slot loss) {
    if (!w.code.loss_in_model) return;
    const Slot hidden_states = w.tensor(w.of_stream(w.z.T * w.z.D));
    w.receive(hidden_states, Shared::hidden_states);
    w.free({hidden_states});
    if (in_trainer) end_of_trainers_forward();
    w.leave(root);
    w.returned({loss, logits});
    if (w.plan.attention_mask == AttentionMask::none || in_trainer) return;
    const Slot mask = w.tensor(8 * w.z.T);
    w.receive(mask, Shared::attention_mask);
    w.free({mask});
  }
  // Accelerate wraps the model's forward: autocast ends there, and 16-bit outputs become fp32
  // (convert_outputs_to_fp32).
  void end_of_trainers_forward() {
    if (w.plan.autocast == Autocast::none) return;
    w.leave_autocast();
    if (given == 4) return;
    const Slot narrow = logits;
    logits = w.make("aten::_to_copy", 4 * elements, {narrow});
    w.free({narrow});
  }
  // What nothing else holds dies; the training loop may hold a reference.
  void drop_logits() {
    if (w.plan.keep_logits && !in_trainer) {
      w.hand_over(logits, Shared::logits);
    } else {
      w.free({logits});
    }
  }
  // The mean over micro-steps, where there are several; a trainer has divided a sum before.
  Slot divided(Slot scalar) {
    const bool divides = w.has_backward() && !in_trainer && w.job.plan.batch.accumulation > 1;
    return divides ? w.make("aten::div", item, {scalar}) : kNone;
  }
  // num_items_in_batch (fixed_cross_entropy): a sum over the labels, divided by their number.
  Slot sum_divided(Slot sum) {
    if (!in_trainer) return sum;
    const Slot loss = w.make("aten::div", item, {sum});
    w.free({sum});
    return loss;
  }
  void hand_over_loss(Slot loss) {
    const Slot mean = divided(loss);
    if (mean != kNone) w.free({loss});
    w.hand_over(mean == kNone ? loss : mean, Shared::loss);
  }
  // From the gradient of what backward begins at, 1, to that of the loss: a tensor of its own, or none.
  Slot gradient_of_loss(Slot one) {
    if (!in_trainer) {
      const Slot divided_one = divided(one);
      if (w.code.loss_in_model) w.enter(root);
      return divided_one;
    }
    // Accelerator.backward divides by 1, compute_loss has multiplied by the ranks.
    const Slot quotient = w.make_like("aten::div", one, {one});
    Slot gradient = w.make_like("aten::mul", one, {quotient});
    w.free({quotient});
    if (casts_outputs(w.job.plan)) {
      const Slot wide = w.make("aten::_to_copy", item, {gradient});
      w.free({std::exchange(gradient, wide)});
    }
    w.enter(root);
    const Slot of_sum = w.make("aten::div", item, {gradient});
    w.free({gradient});
    return of_sum;
  }

  EagerWriter w;
  std::int32_t root;
  const bool in_trainer;
  bool is_wide;
  // Bytes of a logit as it comes, of its logarithm, and of what the loss is computed in.
  std::int64_t given, scored, item, elements;
  Slot logits, weight;
};

Segment whole_loss(const Job& job, GradMode grad) {
  Loss l(job, grad);
  EagerWriter& w = l.w;
  const std::int64_t T = w.z.T, V = w.z.V, B = w.z.B, S = w.z.S;
  const Slot probabilities = w.tensor(l.scored * T * V);
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
  const Slot read = l.widens_scores() ? w.make("aten::_to_copy", l.item * T * V, {probabilities})
                                      : probabilities,
             wide_read = read == probabilities ? kNone : read;
  const Slot sum = w.make("aten::nll_loss_forward", l.item, {read});
  w.allocate(l.weight);
  if (!w.has_backward()) w.free({l.weight, wide_read, probabilities});
  const Slot loss = l.sum_divided(sum);
  w.free({wide, dropped});
  if (!w.has_backward()) w.free({kept_labels});
  l.end_of_model(loss);
  l.drop_logits();
  if (!l.in_trainer) w.leave_autocast();
  l.hand_over_loss(loss);
  if (!w.has_backward()) return std::move(w.segment);

  w.begin(w.segment.backward, Thread::autograd);
  const std::int64_t item = casts_outputs(job.plan) ? w.of(1) : l.item;
  if (l.in_trainer) w.hand_over(w.make("aten::div", item, {}), Shared::scaled_loss);
  const Slot one = w.make("aten::ones_like", item, {});
  const Slot divided = l.gradient_of_loss(one);
  Slot d_loss = w.make("aten::nll_loss_backward", l.item * T * V, {one, read});
  w.free({divided, wide_read, kept_labels, l.weight});
  if (l.widens_scores()) {
    const Slot narrow = w.make("aten::_to_copy", l.scored * T * V, {d_loss});
    w.free({std::exchange(d_loss, narrow)});
  }
  Slot gradient =
      w.make("aten::_log_softmax_backward_data", l.scored * T * V, {d_loss, probabilities});
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
  Loss l(job, GradMode::enabled);
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
  const Slot divided = l.gradient_of_loss(one);
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

Segment eager_loss(const Job& job, GradMode grad) {
  return is_compiled(job.plan) ? compiled_loss(job) : whole_loss(job, grad);
}

}  // namespace foreshard::lowering
