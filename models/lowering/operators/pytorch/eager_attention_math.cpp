#include "models/lowering/operators/pytorch/eager_attention_math.hpp"

namespace foreshard::lowering {
namespace {

// All of it is computed in fp32.
struct MathSizes {
  MathSizes(const EagerWriter& w, const EagerAttention& a)
      : rows(4 * w.z.T * w.z.H * w.z.d),
        kv_rows(4 * w.z.T * a.kv_heads * w.z.d),
        scores(4 * w.z.B * w.z.H * w.z.S * w.z.S),
        square(w.z.S * w.z.S),
        is_grouped(a.kv_heads != w.z.H),
        folds(w.z.B == 1 || w.z.H == 1) {
    // A single head that was expanded for all is no memory of its own; what is computed from it lies by
    // heads.
    const bool is_expanded = a.kv_heads != w.z.K && w.z.K == 1;
    keys_fold = folds || is_expanded || a.is_given_by_heads;
    values_fold = folds || (is_expanded ? w.z.is_16_bit : a.is_given_by_heads);
  }
  // Whether bmm reads the values as attention is given them; others are copied, by repeat_interleave or
  // to fold batch and heads.
  bool reads_given_values() const { return values_fold && !is_grouped; }
  std::int64_t rows, kv_rows, scores, square;
  bool is_grouped;
  // Whether queries, keys and values are [B x H, S, d] without a copy.
  bool folds, keys_fold = false, values_fold = false;
};

// A copy in fp32 of what a 16-bit model has; an fp32 model's tensor itself.
Slot widened(EagerWriter& w, Slot x, std::int64_t bytes) {
  return w.z.is_16_bit ? w.make("aten::_to_copy", bytes, {x}) : x;
}

// The reverse, which takes the place of its source.
Slot narrowed(EagerWriter& w, Slot x) {
  if (!w.z.is_16_bit || x == kNone) return x;
  const Slot narrow = w.make("aten::_to_copy", w.bytes(x) / 2, {x});
  w.free({x});
  return narrow;
}

// The causal mask: ones, their lower triangle, then -inf where there is none.
Slot causal_mask(EagerWriter& w, const MathSizes& s) {
  const Slot ones = w.make("aten::ones", s.square, {});
  const Slot triangle = w.make("aten::tril", s.square, {ones});
  w.free({ones});
  const Slot mask = w.scratch_later(4 * s.square);
  numbers_of_mask(w, mask, triangle, 4);
  w.free({triangle});
  return mask;
}

CostKey batched(const EagerWriter& w, std::int64_t m, std::int64_t n, std::int64_t k) {
  return w.key(Operator::batched_matmul, {w.z.B * w.z.H, m, n, k, 0});
}

Slot product(EagerWriter& w, std::int64_t bytes, const CostKey& key, Slot a, Slot b) {
  const Slot out = w.scratch(bytes);
  w.launch(key, "aten::bmm", {Operand::of(a), Operand::of(b)}, {Operand::of(out)});
  return out;
}

// Of keys and values that were repeated for all heads.
Slot summed_over_groups(EagerWriter& w, const MathSizes& s, Slot gradient) {
  if (gradient == kNone) return gradient;
  const Slot sum = w.make("aten::sum", s.kv_rows, {gradient});
  w.free({gradient});
  return sum;
}

}  // namespace

void declare_math_attention(EagerWriter& w, EagerAttention& a) {
  const MathSizes s(w, a);
  if (w.z.is_16_bit || !s.reads_given_values()) a.values = w.tensor(s.rows);
  a.keys = w.tensor(s.rows);
  a.queries = w.tensor(s.rows);
  a.probabilities = w.tensor(s.scores);
  if (w.z.H > 1) a.result = w.tensor(w.bytes(a.out));  // one head is in rows already
}

void math_attention_forward(EagerWriter& w, const EagerAttention& a, const AttentionForward& at) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  const MathSizes s(w, a);
  const Slot q = widened(w, at.q, s.rows), k = widened(w, at.k, s.kv_rows);
  Slot v = at.v;
  if (is_16_bit) {
    v = s.reads_given_values() ? a.values : w.scratch_later(s.kv_rows);
    w.write(v, "aten::_to_copy", {at.v});
  }
  // What was scaled is kept itself where it folds.
  const Slot scaled = s.folds ? a.queries : w.scratch_later(s.rows);
  w.write(scaled, "aten::mul", {q});
  const Slot mask = a.bias == kNone ? causal_mask(w, s) : kNone;
  Slot repeated = kNone;
  if (s.is_grouped) {
    repeated = w.make("aten::repeat_interleave", s.rows, {k});
    w.write(a.values, "aten::repeat_interleave", {v});
  }
  const bool copies_keys = !s.keys_fold && !s.is_grouped,
             copies_values = !s.values_fold && !s.is_grouped;
  const Slot scaled_keys = copies_keys ? w.scratch_later(s.rows) : a.keys;
  w.write(scaled_keys, "aten::mul", {repeated == kNone ? k : repeated});
  if (!s.folds) w.write(a.queries, "aten::clone", {scaled});
  if (copies_keys) w.write(a.keys, "aten::clone", {scaled_keys});
  Slot scores = product(w, s.scores, batched(w, S, S, d), a.queries, a.keys);
  // A product's factor is saved where the other one has a gradient.
  const bool keeps_queries = at.keeps && at.needs.k, keeps_keys = at.keeps && at.needs.q,
             keeps_values = at.keeps && at.needs.scores();
  w.free({keeps_queries || s.folds ? kNone : a.queries, keeps_keys ? kNone : a.keys});
  if (copies_keys) w.free({scaled_keys});
  if (at.is_dispatched) {  // the mask is not added in place
    const Slot masked = w.make("aten::add", s.scores, {scores, mask});
    w.free({scores});
    scores = masked;
  }
  w.write(a.probabilities, "aten::_safe_softmax", {scores});
  const Slot is_infinite = w.make("aten::eq", s.scores / 4, {scores});
  const Slot all = w.make("aten::all", B * H * S, {is_infinite});
  const Slot zero = w.make("aten::scalar_tensor", 4, {});
  w.free({zero, all, is_infinite, scores});
  const CostKey key = batched(w, S, d, S);
  // The probabilities are a second result, narrowed for nobody.
  const Slot returned =
      is_16_bit ? w.make("aten::_to_copy", s.scores / 2, {a.probabilities}) : kNone;
  if (copies_values) w.write(a.values, "aten::clone", {v});
  const Slot values = a.values == kNone ? at.v : a.values;
  const Slot dropped = at.keeps ? kNone : a.probabilities,
             dropped_values = keeps_values || v == a.values ? kNone : a.values,
             dropped_queries = keeps_queries && s.folds ? kNone : scaled;
  if (!is_16_bit) {
    const Slot out = attention_output(a);
    w.allocate(out);
    w.launch(key, "aten::bmm", {Operand::of(a.probabilities), Operand::of(values)},
             {Operand::of(out)});
    w.free({repeated, dropped_values, dropped_queries, mask, dropped});
    return;
  }
  const Slot wide = product(w, s.rows, key, a.probabilities, values);
  if (copies_values) w.free({dropped_values});  // a copy that only the product held
  w.write(attention_output(a), "aten::_to_copy", {wide});
  const Slot dropped_v = keeps_values && v == a.values ? kNone : v;
  w.free({wide, dropped, repeated, copies_values ? kNone : dropped_values, dropped_queries, mask,
          dropped_v, k, q, returned});
}

AttentionGradients math_attention_backward(EagerWriter& w, const EagerAttention& a,
                                           const AttentionBackward& at) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  const MathSizes s(w, a);
  Slot dy = widened(w, at.dy, s.rows);
  if (dy != at.dy) w.free({at.dy});
  if (!s.folds) {
    const Slot folded = w.make("aten::clone", s.rows, {dy});
    w.free({dy});
    dy = folded;
  }
  const auto free_after = [&](EagerWriter::Reads saved, Slot gradient) {
    if (!at.recomputed) w.free({gradient});
    w.free(saved);
    if (at.recomputed) w.free({gradient});
  };
  AttentionGradients g;
  if (at.needs.v) g.dv = product(w, s.rows, batched(w, S, d, S), a.probabilities, dy);
  if (at.needs.scores()) {
    const Slot values = a.values == kNone ? at.v : a.values;
    const Slot dp = product(w, s.scores, batched(w, S, S, d), dy, values);
    free_after({values}, dy);
    const Slot ds = w.make("aten::_softmax_backward_data", s.scores, {dp, a.probabilities});
    const Slot masked = w.make("aten::masked_fill", s.scores, {ds});
    w.free({masked});
    free_after({a.probabilities}, dp);
    const Slot queries = at.needs.k ? a.queries : kNone, keys = at.needs.q ? a.keys : kNone;
    const CostKey key = batched(w, S, d, S);
    const Slot dk_scaled = at.needs.k ? product(w, s.rows, key, ds, queries) : kNone,
               dq_scaled = at.needs.q ? product(w, s.rows, key, ds, keys) : kNone;
    if (at.recomputed) {
      w.free({queries, keys, ds});
    } else {
      w.free({ds, keys, queries});
    }
    const auto unscaled = [&](Slot scaled) {
      if (scaled == kNone) return scaled;
      const Slot out = w.make("aten::mul", s.rows, {scaled});
      w.free({scaled});
      return out;
    };
    g.dk = unscaled(dk_scaled);
    if (s.is_grouped) {
      g.dv = summed_over_groups(w, s, g.dv);
      g.dk = summed_over_groups(w, s, g.dk);
    }
    g.dq = unscaled(dq_scaled);
  } else {
    free_after({a.probabilities}, dy);
    if (s.is_grouped) g.dv = summed_over_groups(w, s, g.dv);
  }
  g.dv = narrowed(w, g.dv);
  g.dk = narrowed(w, g.dk);
  g.dq = narrowed(w, g.dq);
  return g;
}

}  // namespace foreshard::lowering
