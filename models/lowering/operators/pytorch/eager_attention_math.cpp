#include "models/lowering/operators/pytorch/eager_attention_math.hpp"

namespace foreshard::lowering {
namespace {

constexpr std::int64_t kElement = 4;  // it computes in fp32, whatever it is given

struct MathSizes {
  explicit MathSizes(const EagerWriter& w)
      : rows(kElement * w.z.T * w.z.H * w.z.d),
        kv_rows(kElement * w.z.T * w.z.K * w.z.d),
        scores(kElement * w.z.B * w.z.H * w.z.S * w.z.S),
        square(w.z.S * w.z.S) {}
  std::int64_t rows, kv_rows, scores, square;
};

// The causal mask: ones, their lower triangle, then -inf where there is none.
Slot causal_mask(EagerWriter& w, const MathSizes& s) {
  const Slot ones = w.make("aten::ones", s.square, {});
  const Slot triangle = w.make("aten::tril", s.square, {ones});
  w.free({ones});
  const Slot zero = w.make("aten::scalar_tensor", 4, {}),
             minus_infinity = w.make("aten::scalar_tensor", 4, {});
  const Slot mask = w.make("aten::where", kElement * s.square, {triangle, zero, minus_infinity});
  w.free({minus_infinity, zero, triangle});
  return mask;
}

CostKey batched(const EagerWriter& w, std::int64_t m, std::int64_t n, std::int64_t k) {
  const DType fp32 = DType::fp32;
  return {Operator::batched_matmul, fp32, fp32, fp32, {w.z.B * w.z.H, m, n, k, 0}};
}

// 16-bit inputs are cast first; kNone: they are not.
Slot widened(EagerWriter& w, Slot input, std::int64_t bytes) {
  return w.z.is_16_bit ? w.make("aten::_to_copy", bytes, {input}) : kNone;
}

Slot either(Slot wide, Slot input) {
  return wide == kNone ? input : wide;
}

Slot product(EagerWriter& w, std::int64_t bytes, const CostKey& key, Slot a, Slot b) {
  const Slot out = w.scratch(bytes);
  w.launch(key, "aten::bmm", {Operand::of(a), Operand::of(b)}, {Operand::of(out)});
  return out;
}

// What a caller would get of the probabilities, if it wanted them.
Slot narrow_probabilities(EagerWriter& w, const EagerAttention& a, const MathSizes& s) {
  if (!w.z.is_16_bit) return kNone;
  return w.make("aten::_to_copy", s.scores / kElement * w.z.e, {a.probabilities});
}

void multiply_values(EagerWriter& w, const EagerAttention& a, const MathSizes& s) {
  const CostKey key = batched(w, w.z.S, w.z.d, w.z.S);
  if (w.z.is_16_bit) {
    const Slot result = product(w, s.rows, key, a.probabilities, a.values);
    w.write(a.result, "aten::_to_copy", {result});
    return w.free({result});
  }
  w.allocate(a.result);
  w.launch(key, "aten::bmm", {Operand::of(a.probabilities), Operand::of(a.values)},
           {Operand::of(a.result)});
}

// A gradient of fp32 becomes one of the compute type.
Slot narrowed(EagerWriter& w, Slot gradient, std::int64_t bytes) {
  if (!w.z.is_16_bit) return gradient;
  const Slot narrow = w.make("aten::_to_copy", bytes / kElement * w.z.e, {gradient});
  w.free({gradient});
  return narrow;
}

}  // namespace

void declare_math_attention(EagerWriter& w, EagerAttention& a) {
  const MathSizes s(w);
  a.values = w.tensor(s.rows);
  a.keys = w.tensor(s.rows);
  a.queries = w.tensor(s.rows);
  a.probabilities = w.tensor(s.scores);
  a.result = w.tensor(w.of(w.z.T * w.z.H * w.z.d));
}

void math_attention_forward(EagerWriter& w, const EagerAttention& a, const AttentionForward& at) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  const MathSizes s(w);
  const Slot q = widened(w, at.q, s.rows), k = widened(w, at.k, s.kv_rows),
             v = widened(w, at.v, s.kv_rows);
  // One batch folds into [H, S, d] without a copy, and what was scaled is kept itself.
  const bool folds = B == 1;
  Slot scaled = kNone;
  if (folds) {
    w.write(a.queries, "aten::mul", {either(q, at.q)});
    scaled = a.queries;
  } else {
    scaled = w.make("aten::mul", s.rows, {either(q, at.q)});
  }
  const Slot mask = causal_mask(w, s);
  const Slot repeated = w.make("aten::repeat_interleave", s.rows, {either(k, at.k)});
  w.write(a.values, "aten::repeat_interleave", {either(v, at.v)});
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
  const Slot is_infinite = w.make("aten::eq", s.scores / kElement, {scores});
  const Slot all = w.make("aten::all", B * H * S, {is_infinite});
  const Slot zero = w.make("aten::scalar_tensor", 4, {});
  w.free({zero, all, is_infinite, scores});
  const Slot narrow = narrow_probabilities(w, a, s);
  multiply_values(w, a, s);
  if (at.keeps) {
    w.free({repeated, folds ? kNone : scaled, mask, v, k, q, narrow});
  } else if (is_16_bit) {
    w.free({a.probabilities, repeated, a.values, scaled, mask, v, k, q, narrow});
  } else {
    w.free({repeated, a.values, scaled, mask, a.probabilities});
  }
  w.write(a.out, "aten::clone", {a.result});
}

AttentionGradients math_attention_backward(EagerWriter& w, const EagerAttention& a,
                                           const AttentionBackward& at) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  const MathSizes s(w);
  Slot dy = at.dy;
  if (is_16_bit) {
    dy = w.make("aten::_to_copy", s.rows, {at.dy});
    w.free({at.dy});
  }
  if (B > 1) {
    const Slot before = std::exchange(dy, w.make("aten::clone", s.rows, {dy}));
    w.free({before});
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
  g.dv = narrowed(w, g.dv, s.kv_rows);
  g.dk = narrowed(w, g.dk, s.kv_rows);
  g.dq = narrowed(w, g.dq, s.rows);
  return g;
}

}  // namespace foreshard::lowering
