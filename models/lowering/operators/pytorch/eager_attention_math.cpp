#include "models/lowering/operators/pytorch/eager_attention_math.hpp"

namespace foreshard::lowering {
namespace {

// All of it is computed in fp32.
struct MathSizes {
  explicit MathSizes(const EagerWriter& w)
      : rows(4 * w.z.T * w.z.H * w.z.d),
        kv_rows(4 * w.z.T * w.z.K * w.z.d),
        scores(4 * w.z.B * w.z.H * w.z.S * w.z.S),
        square(w.z.S * w.z.S) {}
  std::int64_t rows, kv_rows, scores, square;
};

// A copy in fp32 of what a 16-bit model has; an fp32 model's tensor itself.
Slot widened(EagerWriter& w, Slot x) {
  return w.z.is_16_bit ? w.make("aten::_to_copy", 2 * w.bytes(x), {x}) : x;
}

// The reverse, which takes the place of its source.
Slot narrowed(EagerWriter& w, Slot x) {
  if (!w.z.is_16_bit) return x;
  const Slot narrow = w.make("aten::_to_copy", w.bytes(x) / 2, {x});
  w.free({x});
  return narrow;
}

// The causal mask: ones, their lower triangle, then -inf where there is none.
Slot causal_mask(EagerWriter& w, const MathSizes& s) {
  const Slot ones = w.make("aten::ones", s.square, {});
  const Slot triangle = w.make("aten::tril", s.square, {ones});
  w.free({ones});
  const Slot zero = w.make("aten::scalar_tensor", 4, {}),
             minus_infinity = w.make("aten::scalar_tensor", 4, {});
  const Slot mask = w.make("aten::where", 4 * s.square, {triangle, zero, minus_infinity});
  w.free({minus_infinity, zero, triangle});
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

}  // namespace

void declare_math_attention(EagerWriter& w, EagerAttention& a) {
  const MathSizes s(w);
  a.values = w.tensor(s.rows);
  a.keys = w.tensor(s.rows);
  a.queries = w.tensor(s.rows);
  a.probabilities = w.tensor(s.scores);
  a.result = w.tensor(w.bytes(a.out));
}

void math_attention_forward(EagerWriter& w, const EagerAttention& a, const AttentionForward& at) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  const MathSizes s(w);
  // One batch folds into [H, S, d] without a copy, and what was scaled is kept itself.
  const bool folds = B == 1;
  const Slot q = widened(w, at.q), k = widened(w, at.k), v = widened(w, at.v);
  Slot scaled = kNone;
  if (folds) {
    w.write(a.queries, "aten::mul", {q});
    scaled = a.queries;
  } else {
    scaled = w.make("aten::mul", s.rows, {q});
  }
  const Slot mask = causal_mask(w, s);
  const Slot repeated = w.make("aten::repeat_interleave", s.rows, {k});
  w.write(a.values, "aten::repeat_interleave", {v});
  w.write(a.keys, "aten::mul", {repeated});
  if (!folds) w.write(a.queries, "aten::clone", {scaled});
  Slot scores = product(w, s.scores, batched(w, S, S, d), a.queries, a.keys);
  if (!at.keeps) w.free({folds ? kNone : a.queries, a.keys});
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
  const Slot dropped = at.keeps ? kNone : a.probabilities,
             dropped_values = at.keeps ? kNone : a.values,
             dropped_queries = at.keeps && folds ? kNone : scaled;
  if (!is_16_bit) {
    w.allocate(a.result);
    w.launch(key, "aten::bmm", {Operand::of(a.probabilities), Operand::of(a.values)},
             {Operand::of(a.result)});
    w.free({repeated, dropped_values, dropped_queries, mask, dropped});
  } else {
    // The probabilities are a second result, narrowed for nobody.
    const Slot returned = w.make("aten::_to_copy", s.scores / 2, {a.probabilities});
    const Slot wide = product(w, s.rows, key, a.probabilities, a.values);
    w.write(a.result, "aten::_to_copy", {wide});
    w.free({wide, dropped, repeated, dropped_values, dropped_queries, mask, v, k, q, returned});
  }
  w.write(a.out, "aten::clone", {a.result});
}

AttentionGradients math_attention_backward(EagerWriter& w, const EagerAttention& a,
                                           const AttentionBackward& at) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  const MathSizes s(w);
  Slot dy = widened(w, at.dy);
  if (dy != at.dy) w.free({at.dy});
  if (B > 1) {
    const Slot folded = w.make("aten::clone", s.rows, {dy});
    w.free({dy});
    dy = folded;
  }
  const auto free_after = [&](EagerWriter::Reads saved, Slot gradient) {
    if (!at.recomputed) w.free({gradient});
    w.free(saved);
    if (at.recomputed) w.free({gradient});
  };
  const Slot dv = product(w, s.rows, batched(w, S, d, S), a.probabilities, dy);
  const Slot dp = product(w, s.scores, batched(w, S, S, d), dy, a.values);
  free_after({a.values}, dy);
  const Slot ds = w.make("aten::_softmax_backward_data", s.scores, {dp, a.probabilities});
  const Slot masked = w.make("aten::masked_fill", s.scores, {ds});
  w.free({masked});
  free_after({a.probabilities}, dp);
  const Slot dq_scaled = product(w, s.rows, batched(w, S, d, S), ds, a.keys);
  const Slot dk_scaled = product(w, s.rows, batched(w, S, d, S), ds, a.queries);
  if (at.recomputed) {
    w.free({a.queries, a.keys, ds});
  } else {
    w.free({ds, a.keys, a.queries});
  }
  const Slot dk = w.make("aten::mul", s.rows, {dq_scaled});
  w.free({dq_scaled});
  AttentionGradients g;
  g.dv = w.make("aten::sum", s.kv_rows, {dv});
  w.free({dv});
  g.dk = w.make("aten::sum", s.kv_rows, {dk});
  w.free({dk});
  g.dq = w.make("aten::mul", s.rows, {dk_scaled});
  w.free({dk_scaled});
  g.dv = narrowed(w, g.dv);
  g.dk = narrowed(w, g.dk);
  g.dq = narrowed(w, g.dq);
  return g;
}

}  // namespace foreshard::lowering
