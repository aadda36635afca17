#include "models/lowering/operators/pytorch/eager_rope.hpp"

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

void half_forward(EagerWriter& w, Slot q, Slot out) {
  const std::int64_t n = w.bytes(q);
  const Slot by_cosine = w.make("aten::mul", n, {q});
  const Slot negative = w.make("aten::neg", n / 2, {q});
  const Slot turned = w.make("aten::cat", n, {negative, q});
  w.free({negative});
  const Slot by_sine = w.make("aten::mul", n, {turned});
  w.free({turned});
  w.write(out, "aten::add", {by_cosine, by_sine});
  w.free({by_cosine, by_sine});
}

Slot complex_backward(EagerWriter& w, const RopeBackward& at) {
  const std::int64_t elements = w.z.T * at.heads * w.z.d;
  Slot dq = at.dq;
  const auto replace = [&](std::string_view op) {
    const Slot next = w.make(op, 4 * elements, {dq});
    w.free({dq});
    dq = next;
  };
  if (w.z.is_16_bit) replace("aten::_to_copy");
  if (at.heads_are_outer && at.heads > 1) replace("aten::clone");
  const Slot conjugate = w.make("aten::clone", 4 * w.z.S * w.z.d, {});
  const Slot turned = w.make("aten::mul", 4 * elements, {dq, conjugate});
  w.free({conjugate, dq});
  if (!w.z.is_16_bit) return turned;
  const Slot out = w.make("aten::_to_copy", 2 * elements, {turned});
  w.free({turned});
  return out;
}

Slot half_backward(EagerWriter& w, const RopeBackward& at) {
  const std::int64_t n = w.of(w.z.T * at.heads * w.z.d);
  const Slot by_sine = w.make("aten::mul", n, {at.dq});
  w.free({at.sines});
  const Slot negative = w.make("aten::neg", n / 2, {by_sine});
  const Slot sum = w.make("aten::slice_backward", n, {negative});
  w.free({negative});
  const Slot other = w.make("aten::slice_backward", n, {by_sine});
  w.update(sum, "aten::add_", {other});
  w.free({by_sine, other});
  const Slot by_cosine = w.make("aten::mul", n, {at.dq});
  if (at.recomputed) {
    w.free({at.cosines, at.dq});
  } else {
    w.free({at.dq, at.cosines});
  }
  w.update(sum, "aten::add_", {by_cosine});
  w.free({by_cosine});
  return sum;
}

}  // namespace

bool rope_is_complex(const EagerWriter& w) {
  return !w.is_transformers && w.plan.rope == RopeArithmetic::complex;
}

void rope_forward(EagerWriter& w, Slot q, Slot out) {
  return rope_is_complex(w) ? complex_forward(w, q, out) : half_forward(w, q, out);
}

Slot rope_backward(EagerWriter& w, const RopeBackward& at) {
  return rope_is_complex(w) ? complex_backward(w, at) : half_backward(w, at);
}

}  // namespace foreshard::lowering
