#include "models/lowering/operators/pytorch/eager_norm.hpp"

namespace foreshard::lowering {
namespace {

// Bytes of the tensors that single operators work on: of the compute type, in fp32, a number a row.
struct Sizes {
  Sizes(const EagerWriter& w, const EagerNorm& n)
      : x(w.of(n.rows * n.width)), wide(4 * n.rows * n.width), row(4 * n.rows) {}
  std::int64_t x, wide, row;
};

// transformers: to fp32, pow, mean, add, rsqrt, mul, to the compute type, mul by the weight.
Slot transformers_forward(EagerWriter& w, const EagerNorm& n, Slot x, bool keeps) {
  const Sizes s(w, n);
  const bool cast = w.z.is_16_bit;
  const auto at = [&](Slot kept, std::string_view op, std::int64_t bytes, EagerWriter::Reads in) {
    if (!keeps || kept == kNone) return w.make(op, bytes, in);
    w.write(kept, op, in);
    return kept;
  };
  const Slot wide = cast ? at(n.wide, "aten::_to_copy", s.wide, {x}) : kNone;
  const Slot input = cast ? wide : x;
  const Slot squares = w.make("aten::pow", s.wide, {input});
  const Slot mean = w.make("aten::mean", s.row, {squares});
  w.free({squares});
  const Slot sum = w.make("aten::add", s.row, {mean});
  const Slot rstd = at(n.rstd, "aten::rsqrt", s.row, {sum});
  w.free({sum});
  if (!keeps) {
    const Slot product = w.make("aten::mul", s.wide, {input, rstd});
    w.free({rstd, wide});
    const Slot narrow = cast ? w.make("aten::_to_copy", s.x, {product}) : kNone;
    const Slot out = w.make("aten::mul", s.x, {cast ? narrow : product});
    w.free({narrow, product, mean});
    return out;
  }
  if (!cast) {
    w.write(n.normalized, "aten::mul", {input, rstd});
    w.write(n.output, "aten::mul", {n.normalized});
    w.free({mean});
    return n.output;
  }
  const Slot product = w.make("aten::mul", s.wide, {input, rstd});
  w.write(n.normalized, "aten::_to_copy", {product});
  w.write(n.output, "aten::mul", {n.normalized});
  w.free({product, mean});
  return n.output;
}

// torch.nn.RMSNorm up to 2.8, multiplied by the weight in fp32, up to 2.6 after the cast.
Slot torch_forward(EagerWriter& w, const EagerNorm& n, Slot x, bool keeps) {
  const Sizes s(w, n);
  const bool cast = w.z.is_16_bit;
  const auto at = [&](Slot kept, std::string_view op, std::int64_t bytes, EagerWriter::Reads in) {
    if (!keeps) return w.make(op, bytes, in);
    w.write(kept, op, in);
    return kept;
  };
  const Slot wide = cast ? at(n.wide, "aten::_to_copy", s.wide, {x}) : kNone;
  const Slot input = cast ? wide : x;
  const Slot squares = w.make("aten::pow", s.wide, {input});
  const Slot mean = w.make("aten::mean", s.row, {squares});
  const Slot rstd = at(n.rstd, "aten::rsqrt", s.row, {mean});
  w.free({mean, squares});
  if (cast && w.rules.norm_weight_after_cast) {
    const Slot product = w.make("aten::mul", s.wide, {input, rstd});
    const Slot narrow = at(n.normalized, "aten::_to_copy", s.x, {product});
    w.free({product});
    const Slot out = at(n.output, "aten::mul", s.x, {narrow});
    if (!keeps) w.free({narrow, rstd, wide});
    return out;
  }
  const Slot product = at(n.normalized, "aten::mul", s.wide, {input, rstd});
  if (!cast) {
    const Slot out = at(n.output, "aten::mul", s.wide, {product});
    if (!keeps) w.free({product, rstd});
    return out;
  }
  const Slot weighted = w.make("aten::mul", s.wide, {product});
  if (!keeps) w.free({product, rstd, wide});
  const Slot out = at(n.output, "aten::_to_copy", s.x, {weighted});
  w.free({weighted});
  return out;
}

// From the gradient of the normalized tensor, in fp32, to that of the input: through mul, rsqrt, mean
// and pow. `dn` is freed.
Slot statistics_backward(EagerWriter& w, const EagerNorm& n, const NormBackward& at, Slot dn) {
  const Sizes s(w, n);
  const bool cast = w.z.is_16_bit;
  const Slot input = cast ? n.wide : at.x;
  const Slot product = w.make("aten::mul", s.wide, {dn, input});
  Slot dx = w.make("aten::mul", s.wide, {dn, n.rstd});
  const Slot d_rstd = w.make("aten::sum", s.row, {product});
  w.free({product, dn});
  const bool joins_residual = !cast && at.residual != kNone;
  if (joins_residual) {
    w.update(at.residual, "aten::add_", {dx});
    w.free({dx});
    dx = kNone;
  }
  const Slot a = w.make("aten::mul", s.row, {d_rstd}), b = w.make("aten::pow", s.row, {n.rstd}),
             d_mean = w.make("aten::mul", s.row, {a, b});
  w.free({b, a});
  if (at.recomputed) {
    w.free({n.rstd, d_rstd});
  } else {
    w.free({d_rstd, n.rstd});
  }
  const Slot spread = w.make("aten::div", s.wide, {d_mean});
  w.free({d_mean});
  const Slot power = w.make("aten::pow", s.wide, {input}),
             twice = w.make("aten::mul", s.wide, {power}),
             d_square = w.make("aten::mul", s.wide, {spread, twice});
  if (at.recomputed) {
    const Slot saved = cast ? n.wide : at.is_first_of_checkpoint ? kNone : at.x;
    w.free({twice, power, saved, spread});
    w.free_all(at.arguments);
  } else {
    w.free({twice, power, spread, cast ? n.wide : at.x});
  }
  w.update(joins_residual ? at.residual : dx, "aten::add_", {d_square});
  w.free({d_square});
  return dx;
}

// The rest of the way, from dx in fp32.
Slot to_compute_type(EagerWriter& w, const EagerNorm& n, const NormBackward& at, Slot dx) {
  if (dx == kNone) return kNone;
  if (w.z.is_16_bit) {
    const Slot narrow = w.make("aten::_to_copy", w.of(n.rows * n.width), {dx});
    w.free({dx});
    dx = narrow;
  }
  if (at.residual == kNone) return dx;
  w.update(at.residual, "aten::add_", {dx});
  w.free({dx});
  return kNone;
}

Slot transformers_backward(EagerWriter& w, const EagerNorm& n, const NormBackward& at) {
  const Sizes s(w, n);
  Slot dn = w.make("aten::mul", s.x, {at.dy});
  const Slot product = w.make("aten::mul", s.x, {at.dy, n.normalized});
  if (at.recomputed) w.free({n.normalized});
  const Slot dw = w.gradient(n.module, n.width);
  w.sum_rows(dw, product, n.rows, n.width);
  w.free({product});
  w.ready(dw);
  w.free({at.dy, at.recomputed ? kNone : n.normalized});
  w.accumulate();
  if (w.z.is_16_bit) {
    const Slot wide = w.make("aten::_to_copy", s.wide, {dn});
    w.free({dn});
    dn = wide;
  }
  return to_compute_type(w, n, at, statistics_backward(w, n, at, dn));
}

Slot torch_backward(EagerWriter& w, const EagerNorm& n, const NormBackward& at) {
  const Sizes s(w, n);
  const bool cast = w.z.is_16_bit, early = cast && w.rules.norm_weight_after_cast;
  Slot dy = at.dy;
  if (cast && !early) {
    dy = w.make("aten::_to_copy", s.wide, {at.dy});
    w.free({at.dy});
  }
  const std::int64_t bytes = early ? s.x : s.wide;
  const Slot product = w.make("aten::mul", bytes, {dy, n.normalized});
  Slot dn = w.make("aten::mul", bytes, {dy});
  if (at.recomputed) w.free({n.normalized});
  const Slot dw = w.gradient(n.module, n.width);
  if (cast && !early) {
    const Slot wide = w.scratch_later(4 * n.width);
    w.sum_rows(wide, product, n.rows, n.width);
    w.free({product});
    w.write(dw, "aten::_to_copy", {wide});
    w.free({wide});
  } else {
    w.sum_rows(dw, product, n.rows, n.width);
    w.free({product});
  }
  w.ready(dw);
  w.free({dy, at.recomputed ? kNone : n.normalized});
  w.accumulate();
  if (early) {
    const Slot wide = w.make("aten::_to_copy", s.wide, {dn});
    w.free({dn});
    dn = wide;
  }
  return to_compute_type(w, n, at, statistics_backward(w, n, at, dn));
}

Slot fused_backward(EagerWriter& w, const EagerNorm& n, const NormBackward& at) {
  const Slot dx = w.make_like("aten::_fused_rms_norm_backward", at.dy, {at.dy, at.x, n.rstd});
  const Slot dw = w.gradient(n.module, n.width);
  w.allocate(dw);
  if (at.recomputed) w.free({n.rstd, at.is_first_of_checkpoint ? kNone : at.x});
  w.ready(dw);
  w.free({at.dy});
  if (at.recomputed) {
    w.free_all(at.arguments);
  } else {
    w.free({at.x, n.rstd});
  }
  if (at.residual == kNone) {
    w.accumulate();
    return dx;
  }
  w.update(at.residual, "aten::add_", {dx});
  w.free({dx});
  w.accumulate();
  return kNone;
}

}  // namespace

bool norm_is_composite(const EagerWriter& w) {
  return w.is_transformers || !w.rules.norm_is_fused;
}

EagerNorm declare_norm(EagerWriter& w, std::string_view module, std::int64_t rows,
                       std::int64_t width) {
  EagerNorm n;
  n.module = w.module(module);
  n.rows = rows;
  n.width = width;
  const Sizes s(w, n);
  n.output = w.tensor(s.x);
  n.rstd = w.tensor(s.row);
  if (!norm_is_composite(w)) return n;
  if (w.z.is_16_bit) n.wide = w.tensor(s.wide);
  const bool wide = !w.is_transformers && !(w.z.is_16_bit && w.rules.norm_weight_after_cast);
  n.normalized = w.tensor(wide ? s.wide : s.x);
  return n;
}

void norm_forward(EagerWriter& w, const EagerNorm& n, Slot x) {
  w.enter(n.module);
  if (w.is_transformers) {
    transformers_forward(w, n, x, true);
  } else if (norm_is_composite(w)) {
    torch_forward(w, n, x, true);
  } else {
    w.write(n.output, "aten::_fused_rms_norm", {x});
    w.allocate(n.rstd);
  }
}

Slot norm_forward_unkept(EagerWriter& w, const EagerNorm& n, Slot x) {
  w.enter(n.module);
  if (w.is_transformers) return transformers_forward(w, n, x, false);
  if (norm_is_composite(w)) return torch_forward(w, n, x, false);
  const Slot out = w.make_like("aten::_fused_rms_norm", n.output, {x});
  w.free({w.scratch(w.bytes(n.rstd))});
  return out;
}

Slot norm_backward(EagerWriter& w, const EagerNorm& n, const NormBackward& at) {
  w.enter(n.module);
  if (w.is_transformers) return transformers_backward(w, n, at);
  if (norm_is_composite(w)) return torch_backward(w, n, at);
  return fused_backward(w, n, at);
}

}  // namespace foreshard::lowering
