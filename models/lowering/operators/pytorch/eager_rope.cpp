#include "models/lowering/operators/pytorch/eager_rope.hpp"

#include <span>
#include <vector>

namespace foreshard::lowering {
namespace {

void complex_forward(EagerWriter& w, Slot q, Slot out) {
  if (!w.z.is_16_bit) return w.write(out, "aten::mul", {q});
  const std::int64_t wide = 2 * w.bytes(q);
  const Slot numbers = w.make("aten::_to_copy", wide, {q});
  const Slot turned = w.make("aten::mul", wide, {numbers});
  w.free({numbers});
  w.write(out, "aten::_to_copy", {turned});
  w.free({turned});
}

// torchtitan's apply_rotary_emb, whose variables live until it returns.
void complex_forward_together(EagerWriter& w, const QueryAndKey& from, const QueryAndKey& to) {
  if (!w.z.is_16_bit) {
    complex_forward(w, from.q, to.q);
    return complex_forward(w, from.k, to.k);
  }
  const std::int64_t q = 2 * w.bytes(from.q), k = 2 * w.bytes(from.k);
  const Slot wide_q = w.make("aten::_to_copy", q, {from.q}),
             wide_k = w.make("aten::_to_copy", k, {from.k});
  const Slot turned_q = w.make("aten::mul", q, {wide_q}),
             turned_k = w.make("aten::mul", k, {wide_k});
  w.write(to.q, "aten::_to_copy", {turned_q});
  w.write(to.k, "aten::_to_copy", {turned_k});
  w.free({wide_q, wide_k, turned_q, turned_k});
}

// The tables are of the stream's type, which is that of the products.
void half_forward(EagerWriter& w, Slot q, Slot out) {
  const std::int64_t n = w.bytes(q);
  const Slot by_cosine = w.make("aten::mul", w.bytes(out), {q});
  const Slot negative = w.make("aten::neg", n / 2, {q});
  const Slot turned = w.make("aten::cat", n, {negative, q});
  w.free({negative});
  const Slot by_sine = w.make("aten::mul", w.bytes(out), {turned});
  w.free({turned});
  w.write(out, "aten::add", {by_cosine, by_sine});
  w.free({by_cosine, by_sine});
}

// A gradient of queries or keys on its way back.
struct Turned {
  Slot gradient;
  std::int64_t heads;
  bool is_copied;  // before it is read as complex numbers
};

// Of tensors that were turned together: each stage of all of them before the next one.
void complex_backward(EagerWriter& w, std::span<Turned> tensors) {
  const auto replace = [&w](Turned& t, std::string_view op, std::int64_t item) {
    const Slot next = w.make(op, item * w.z.T * t.heads * w.z.d, {t.gradient});
    w.free({t.gradient});
    t.gradient = next;
  };
  if (w.z.is_16_bit) {
    for (Turned& t : tensors) replace(t, "aten::_to_copy", 4);
  }
  for (Turned& t : tensors) {
    if (t.is_copied) replace(t, "aten::clone", 4);
    const Slot conjugate = w.make("aten::clone", 4 * w.z.S * w.z.d, {});
    const Slot turned = w.make("aten::mul", 4 * w.z.T * t.heads * w.z.d, {t.gradient, conjugate});
    w.free({conjugate, t.gradient});
    t.gradient = turned;
  }
  if (w.z.is_16_bit) {
    for (Turned& t : tensors) replace(t, "aten::_to_copy", 2);
  }
}

Slot half_backward(EagerWriter& w, const RopeBackward& at, const Turned& t, bool is_last) {
  const std::int64_t elements = w.z.T * t.heads * w.z.d, n = w.of(elements);
  const auto product = [&] {
    const Slot wide = w.make("aten::mul", w.of_stream(elements), {t.gradient});
    if (!w.autocasts()) return wide;
    const Slot narrow = w.make("aten::_to_copy", n, {wide});
    w.free({wide});
    return narrow;
  };
  const Slot sines = is_last ? at.sines : kNone, cosines = is_last ? at.cosines : kNone;
  const Slot by_sine = product();
  w.free({sines});
  const Slot negative = w.make("aten::neg", n / 2, {by_sine});
  const Slot sum = w.make("aten::slice_backward", n, {negative});
  w.free({negative});
  const Slot other = w.make("aten::slice_backward", n, {by_sine});
  w.update(sum, "aten::add_", {other});
  w.free({by_sine, other});
  const Slot by_cosine = product();
  if (at.recomputed) {
    w.free({cosines, t.gradient});
  } else {
    w.free({t.gradient, cosines});
  }
  w.update(sum, "aten::add_", {by_cosine});
  w.free({by_cosine});
  return sum;
}

}  // namespace

void rope_forward(EagerWriter& w, const QueryAndKey& from, const QueryAndKey& to) {
  switch (rotary_of(w.job.plan)) {
    case Rotary::complex: complex_forward(w, from.q, to.q); return complex_forward(w, from.k, to.k);
    case Rotary::complex_together: return complex_forward_together(w, from, to);
    case Rotary::half:
    case Rotary::shared_half: break;
  }
  half_forward(w, from.q, to.q);
  half_forward(w, from.k, to.k);
}

QueryAndKey rope_backward(EagerWriter& w, const RopeBackward& at) {
  std::vector<Turned> turned;  // the keys' nodes run first
  if (at.gradients.k != kNone) turned.push_back({at.gradients.k, w.z.K, at.copies_k});
  if (at.gradients.q != kNone) turned.push_back({at.gradients.q, w.z.H, at.copies_q});
  switch (rotary_of(w.job.plan)) {
    case Rotary::complex:
      for (Turned& one : turned) complex_backward(w, {&one, 1});
      break;
    case Rotary::complex_together: complex_backward(w, turned); break;
    case Rotary::half:
    case Rotary::shared_half:
      for (Turned& one : turned) one.gradient = half_backward(w, at, one, &one == &turned.back());
      break;
  }
  QueryAndKey out;
  if (at.gradients.k != kNone) out.k = turned.front().gradient;
  if (at.gradients.q != kNone) out.q = turned.back().gradient;
  return out;
}

}  // namespace foreshard::lowering
